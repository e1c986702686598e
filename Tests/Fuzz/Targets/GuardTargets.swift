import SallyportCore
import SallyportSocketDiagnosis

@testable import SallyportGateway

extension FuzzTarget {
    static let guarding = [aclQuery, guardQuestion, guardAnswer, socketAnswer]

    /// What Squid writes of what a client sent. Whatever is a question goes to the guard as one line that is the same
    /// question; whatever comes back to Squid is one line.
    private static let aclQuery = FuzzTarget(
        "acl-query",
        words: [
            "1 ", " 443 ", " -", "127.0.0.1 ", "::1 ", "%5B::1%5D", "a.example", "-----BEGIN CERTIFICATE-----\\n",
            "\\n-----END CERTIFICATE-----\\n", "AAEC", "\\\\", "\\\"", "%0a", "%",
        ]
    ) { line throws(BrokenProperty) in
        switch ACLQuery(line: line) {
        case .question(let question, let channel):
            let sent = question.line
            try demand(!sent.contains(UInt8(ascii: "\n")), "A question is more than a line.")
            try demand((try? GuardQuestion(line: sent)) == question, "A question is asked as another.")
            try demand(line.starts(with: "\(channel) ".utf8) || line.first == UInt8(ascii: "0"), "Another channel.")
        case .mistake(let message, let channel):
            let answer = GuardAnswer.failed(message).squidLine(channel: channel)
            try demand(answer.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "An answer is more than a line.")
        case .unreadable: break
        }
    }

    private static let guardQuestion = FuzzTarget(
        "guard-question", words: ["10.0.0.1 ", "::1 ", "[::1] ", " 443 ", "a.example", "AAEC", "==", " "]
    ) { line throws(BrokenProperty) in
        guard let question = try? GuardQuestion(line: line) else { return }
        try demand(line.count <= GuardQuestion.maximumLine, "A long line is read.")
        try demand((try? GuardQuestion(line: question.line)) == question, "A question is read as another.")
    }

    private static let guardAnswer = FuzzTarget("guard-answer", words: ["OK ", "ERR ", "BH ", "UNAVAILABLE ", "a-1"]) {
        line throws(BrokenProperty) in
        guard let answer = GuardAnswer(line: line) else { return }
        if case .allowed = answer { try demand(line.starts(with: "OK ".utf8), "Something else opens a tunnel.") }
        try demand(answer.line.utf8.count <= GuardAnswer.maximumLine, "An answer is longer than is read.")
        let squid = answer.squidLine(channel: 1)
        try demand(squid.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "An answer is more than a line.")
    }

    /// What a process of the machine could send in the kernel's place.
    private static let socketAnswer = FuzzTarget(
        "socket-answer",
        words: ["X\0\0\0", "\u{14}\0", "\u{2}\0", "\u{3}\0", "\u{4}\0", "\u{1}\0\0\0", "\u{2}\u{1}", "\u{a}\u{1}"]
    ) { bytes throws(BrokenProperty) in
        guard let answers = SocketAnswer.answers(in: bytes, to: 1) else { return }
        try demand(answers.count <= bytes.count / 16, "There are more messages than bytes for them.")
    }
}
