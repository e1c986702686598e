import Testing

@testable import SallyportTransport

struct RequestSendingTests {
    /// Sends everything, the portions in turn.
    private func drain(_ sending: inout RequestSending, _ portions: [String]) -> String {
        var rest = portions[...]
        var text = ""
        while !sending.isOver {
            if sending.isSent {
                guard sending.phase == .body else { return text }
                if let next = rest.popFirst() { sending.append(Array(next.utf8)[...]) } else { sending.bodyIsWhole() }
                continue
            }
            let next = unsafe sending.withNext { unsafe String(decoding: $0.prefix(4_000), as: UTF8.self) }
            text += next
            sending.sent(next.utf8.count)
        }
        return text
    }

    @Test
    func headWithoutABodyIsAllOfARequest() {
        var sending = RequestSending(head: Array("HEAD".utf8), hasBody: false, isChunked: false, awaitsContinue: false)
        #expect(drain(&sending, []) == "HEAD")
    }

    @Test
    func bodyOfAKnownLengthFollowsAsItIs() {
        var sending = RequestSending(head: Array("HEAD".utf8), hasBody: true, isChunked: false, awaitsContinue: false)
        #expect(drain(&sending, ["hello", " world"]) == "HEADhello world")
    }

    @Test
    func bodyOfAnUnknownLengthGoesInChunks() {
        var sending = RequestSending(head: Array("HEAD".utf8), hasBody: true, isChunked: true, awaitsContinue: false)
        let long = String(repeating: "x", count: 17)
        #expect(drain(&sending, ["hello", long]) == "HEAD5\r\nhello\r\n11\r\n\(long)\r\n0\r\n\r\n")
    }

    /// A long piece is not copied: the framing around it is sent for itself.
    @Test(arguments: [16 << 10, (16 << 10) + 1, 100_000])
    func bodyOfLongChunksIsFramedAsOneOfShortOnes(length: Int) {
        var sending = RequestSending(head: Array("HEAD".utf8), hasBody: true, isChunked: true, awaitsContinue: false)
        let long = String(repeating: "x", count: length)
        let framed = "\(String(length, radix: 16))\r\n\(long)\r\n"
        #expect(drain(&sending, [long, "hello", long]) == "HEAD\(framed)5\r\nhello\r\n\(framed)0\r\n\r\n")
    }

    @Test(arguments: [5, 100_000])
    func allThatIsNextIsOnePiece(length: Int) {
        var sending = RequestSending(head: Array("HEAD".utf8), hasBody: true, isChunked: true, awaitsContinue: false)
        let text = String(repeating: "x", count: length)
        sending.append(Array(text.utf8)[...])
        let framed = "HEAD\(String(length, radix: 16))\r\n\(text)\r\n"
        #expect(String(decoding: sending.takeNext(), as: UTF8.self) == framed)
        #expect(sending.isSent && sending.takeNext().isEmpty)
        sending.bodyIsWhole()
        #expect(String(decoding: sending.takeNext(), as: UTF8.self) == "0\r\n\r\n" && sending.isOver)
    }

    /// One packet instead of two.
    @Test
    func shortBodyThatIsThereGoesWithTheHead() {
        var sending = RequestSending(head: Array("HEAD".utf8), hasBody: true, isChunked: false, awaitsContinue: false)
        sending.append(Array("hello".utf8)[...])
        #expect(unsafe sending.withNext { unsafe String(decoding: $0, as: UTF8.self) } == "HEADhello")
    }

    @Test
    func bodyWaitsUntilTheServerTakesIt() {
        var sending = RequestSending(head: Array("HEAD".utf8), hasBody: true, isChunked: false, awaitsContinue: true)
        #expect(drain(&sending, ["hello"]) == "HEAD")
        #expect(!sending.isOver && sending.isSent)
        sending.mayContinue()
        #expect(drain(&sending, ["hello"]) == "hello")
    }

    @Test
    func restIsDroppedOnceTheServerHasAnswered() {
        var sending = RequestSending(head: Array("HEAD".utf8), hasBody: true, isChunked: true, awaitsContinue: false)
        sending.sent(2)
        sending.giveUp()
        #expect(sending.isOver && sending.isSent)
    }
}
