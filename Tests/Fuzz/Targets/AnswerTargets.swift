import AnswerReaders
import SallyportBase

extension FuzzTarget {
    /// Answers to our reader, to libcurl's and to swift-nio's; `Tests/Fuzz/answers` compares many more.
    static let answers = [
        FuzzTarget(
            "answer",
            words: [
                "HTTP/1.1 200 OK\r\n", "HTTP/1.0 ", "HTTP/1.1 100 \r\n\r\n", "Content-Length: 5\r\n",
                "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "\r\n", "\r\n\r\n", "\n", "\r", "\r\n ",
                "5\r\nhello\r\n",
                "0\r\n\r\n", ";a=\"b\"", "\0", " :", ", ", "ffffffffffffffff",
            ]
        ) { input throws(BrokenProperty) in
            let verdict = comparison.withLock { $0.compare(AnswerCase(input: input)) }
            if case .finding(let difference) = verdict { throw BrokenProperty(description: difference) }
        }
    ]

    private static let comparison = Lock(AnswerComparison())
}
