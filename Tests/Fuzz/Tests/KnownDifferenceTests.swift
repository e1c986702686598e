import Testing

@testable import AnswerReaders

/// A known difference explains what is written down of it, and no difference of another kind in the same answer.
@Suite struct KnownDifferenceTests {
    private var refusal: Difference.Kind { .refuses(.refused("a reason")) }

    /// Whether a difference explains what another reader makes of an answer.
    private func explains(
        _ known: KnownDifference, _ reader: Difference.Reader, _ kind: Difference.Kind, of text: String,
        read meaning: Answer = Answer()
    ) -> Bool {
        let answer = AnswerCase(input: [0] + Array(text.utf8))
        return known.explains(Difference(reader, kind), of: answer, read: meaning, end: answer.bytes.count)
    }

    private func field(_ name: String, _ value: String) -> Answer.Field {
        Answer.Field(name: Array(name.utf8), value: Array(value.utf8))
    }

    // MARK: White space behind a value

    @Test(arguments: ["Transfer-Encoding: chunked \t", "content-length: 5\t"])
    func spaceBehindTheFramingExplainsWhatTheBodyIs(_ framing: String) {
        let text = "HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n"
        for kind in [Difference.Kind.body, .endsLater, .trailers([]), refusal] {
            #expect(explains(.spaceBehindValue, .nio, kind, of: text), "\(kind)")
        }
        #expect(!explains(.spaceBehindValue, .libcurl, .body, of: text))
    }

    @Test(arguments: ["HTTP/1.1 200 \r\n", "HTTP/1.1 200 OK\r\nX: a \r\n"])
    func spaceBehindAnythingElseDoesNot(_ head: String) {
        var meaning = Answer()
        meaning.trailers = [field("T", "1")]
        for framing in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
            let text = "\(head)\(framing)\r\n\r\n"
            for kind in [Difference.Kind.body, .endsLater, .endsEarlier, .trailers([]), refusal] {
                #expect(!explains(.spaceBehindValue, .nio, kind, of: text, read: meaning), "\(kind)")
            }
        }
    }

    @Test func spaceBehindAValueExplainsTheValueAlone() {
        let text = "HTTP/1.1 200 OK\r\nX: a \r\n\r\n"
        var meaning = Answer()
        meaning.fields = [field("X", "a")]
        #expect(explains(.spaceBehindValue, .nio, .fields([field("X", "a ")]), of: text, read: meaning))
        for theirs in [[field("X", "b ")], [field("Y", "a ")], []] {
            #expect(!explains(.spaceBehindValue, .nio, .fields(theirs), of: text, read: meaning))
        }
    }

    // MARK: Folds

    @Test(arguments: ["X: a\r\n b", "X:\r\n\tb", "X: a\r\n "]) func aFoldExplainsARefusalOfTheFold(_ lines: String) {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(lines)\r\n\r\nok"
        #expect(explains(.foldedValue, .nio, refusal, of: text))
        #expect(!explains(.foldedValue, .libcurl, refusal, of: text))
    }

    @Test func aFoldBehindWhatIsRefusedDoesNot() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\t\r\nX: a\r\n b\r\n\r\nok"
        #expect(!explains(.foldedValue, .nio, refusal, of: text))
    }

    @Test func aFoldExplainsTheWhiteSpaceOfItsFieldAlone() {
        let text = "HTTP/1.1 200 OK\r\nX: a\r\n  b\r\nY: c  d\r\n\r\n"
        var meaning = Answer()
        meaning.fields = [field("X", "a   b"), field("Y", "c  d")]
        let inItsField = [field("X", "a b"), field("Y", "c  d")]
        #expect(explains(.foldedValue, .libcurl, .fields(inItsField), of: text, read: meaning))
        let inAnother = [field("X", "a b"), field("Y", "c d")]
        #expect(!explains(.foldedValue, .libcurl, .fields(inAnother), of: text, read: meaning))
    }

    // MARK: The end of reuse

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nConnection: closed\r\n", "HTTP/1.1 200 OK\r\nconnection: x, \"Close\"\r\n",
        "HTTP/1.0 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
    ])
    func libcurlClosesForTextThatLooksLikeIt(_ head: String) {
        #expect(explains(.closeByText, .libcurl, .closes, of: "\(head)Content-Length: 0\r\n\r\n"))
    }

    @Test(arguments: ["Connection: keep-alive", "Connection: c lose", "X: close"])
    func itHasNoReasonToCloseForOtherText(_ line: String) {
        let lines = "\(line)\r\nContent-Length: 22\r\n\r\nConnection: closed\r\n\r\n"
        var meaning = Answer()
        meaning.body = Array("Connection: closed\r\n\r\n".utf8)
        #expect(!explains(.closeByText, .libcurl, .closes, of: "HTTP/1.1 200 OK\r\n\(lines)", read: meaning))
    }
}
