import SallyportCore
import SallyportSocketDiagnosis
import Testing

@testable import SallyportGateway

/// The lines between a guard and those who ask it.
struct GuardQuestionTests {
    private func question(_ line: String) throws -> GuardQuestion { try GuardQuestion(line: Array(line.utf8)) }

    @Test(arguments: [
        "10.0.0.2 40000 10.0.0.1 3129 a.example 443 AAEC", "2001:db8::2 1 ::1 65535 [::1] 1 AA==",
    ])
    func aLineIsReadAsItIsWritten(line: String) throws {
        #expect(String(decoding: try question(line).line, as: UTF8.self) == line)
    }

    @Test func otherSpellingsMeanTheSame() throws {
        let one = try question("[::ffff:10.0.0.2] 1 [::ffff:a00:1] 2 A.EXAMPLE. 443 AA==")
        #expect(try one == question("10.0.0.2 1 10.0.0.1 2 a.example 443 AA=="))
    }

    @Test(arguments: [
        "", "a", "10.0.0.2 1 10.0.0.1 2 a.example 443", "10.0.0.2 1 10.0.0.1 2 a.example 443 ",
        "10.0.0.2 1 10.0.0.1 2 a.example 443 AA== x", "10.0.0.2  10.0.0.1 2 a.example 443 AA==",
        "10.0.0.2 1 10.0.0.1 2 a.example 443 A", "10.0.0.2 1 10.0.0.1 2 a.example 443 AA\u{1}=",
        "10.0.0.2 1 10.0.0.1 2 a.example 0 AA==", "10.0.0.2 1 10.0.0.1 2 a..example 443 AA==",
        "10.0.0.2 1 10.0.0.1 2 a.example 443 AA==\r",
    ])
    func whatIsNoQuestionIsRefused(line: String) {
        #expect(throws: GuardMistake.self) { try question(line) }
    }

    @Test func aLineHasALimit() throws {
        let line = "10.0.0.2 1 10.0.0.1 2 a.example 443 " + String(repeating: "A", count: GuardQuestion.maximumLine)
        #expect(throws: GuardMistake("The line is longer than 16384 bytes.")) { try question(line) }
    }

    @Test(arguments: [
        GuardAnswer.allowed(instance: "1-a"), .refused("No."), .unavailable("Not now."), .failed("It is late."),
    ])
    func anAnswerIsReadAsItIsWritten(answer: GuardAnswer) {
        #expect(GuardAnswer(line: Array(answer.line.utf8)) == answer)
    }

    @Test(arguments: ["", "OK", "OK ", "OK a b", "ok a", "OK\ta", "YES a", "OK \u{7f}", "OK a\r"])
    func nothingElseOpensATunnel(line: String) { #expect(GuardAnswer(line: Array(line.utf8)) == nil) }

    @Test func longAnswersAreCut() {
        let line = GuardAnswer.refused(String(repeating: "a", count: 5000)).line
        #expect(line.utf8.count <= GuardAnswer.maximumLine)
        #expect(GuardAnswer(line: [UInt8](repeating: 0x41, count: GuardAnswer.maximumLine + 1)) == nil)
    }

    @Test func linesAreCutFromBytesInAnyPieces() {
        let bytes = Array("one\n\nlonger than the limit\ntwo\nrest".utf8)
        var whole = LineSplitter(limit: 5)
        var single = LineSplitter(limit: 5)
        let lines = whole.take(bytes).map { String(decoding: $0, as: UTF8.self) }
        #expect(lines == ["one", "", "longer", "two"])
        #expect(bytes.flatMap { single.take([$0]) } == lines.map { Array($0.utf8) })
    }
}
