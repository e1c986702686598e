import AnswerReaders
import Foundation
import TestSupport
import Testing

/// Every parser, with the corpus and with 10,000 inputs that are the same in each run. `Tests/Fuzz/run` goes on where
/// these stop.
@Suite(.timeLimit(.minutes(5))) struct FuzzTests {
    private static let inputs = 10_000

    private static func corpus(of target: FuzzTarget) throws -> [[UInt8]] {
        let folder = Programs.repository.appending(path: "Tests/Fuzz/Corpus/\(target.name)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        return try names.map { Array(try Data(contentsOf: folder.appending(path: $0))) }
    }

    @Test(arguments: FuzzTarget.all) func theCorpusBreaksNothing(_ target: FuzzTarget) throws {
        let corpus = try Self.corpus(of: target)
        try #require(!corpus.isEmpty)
        for input in corpus { try target.run(input) }
    }

    @Test(arguments: FuzzTarget.all) func noInputBreaksAnything(_ target: FuzzTarget) throws {
        var mutator = Mutator(target, corpus: try Self.corpus(of: target))
        for number in 0..<Self.inputs {
            let input = mutator.nextInput()
            do throws(BrokenProperty) {
                try target.run(input)
            } catch {
                let hexadecimal = input.map { String($0, radix: 16) }.joined(separator: " ")
                Issue.record("Input \(number): \(error): \(hexadecimal)")
                return
            }
        }
    }

    @Test func eachTargetHasAFolderOfItsOwn() throws {
        let names = FuzzTarget.all.map { $0.name }
        #expect(Set(names).count == names.count)
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Programs.repository.appending(path: "Tests/Fuzz/Corpus").path)
        #expect(Set(folders) == Set(names))
    }

    /// What another reader makes otherwise of an answer has its reason.
    @Test func eachKnownDifferenceIsDocumented() throws {
        let page = try String(contentsOf: Programs.repository.appending(path: "Docs/BadInput.md"), encoding: .utf8)
        for difference in KnownDifference.allCases { #expect(page.contains("`\(difference)`")) }
    }

    /// A property that is broken is told, or all of this would be for nothing.
    @Test func aBrokenPropertyIsTold() {
        let target = FuzzTarget("none") { bytes throws(BrokenProperty) in try demand(bytes.isEmpty, "Not empty.") }
        #expect(throws: Never.self) { try target.run([]) }
        #expect(throws: BrokenProperty.self) { try target.run([1]) }
    }
}
