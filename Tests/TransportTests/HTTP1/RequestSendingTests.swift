import Testing

@testable import SallyportTransport

struct RequestSendingTests {
    /// Fills with the portions in turn.
    private func drain(_ sending: inout RequestSending, _ portions: [String]) -> String {
        var rest = portions[...]
        var text = ""
        while !sending.isOver {
            if sending.isSent {
                guard sending.phase == .body else { return text }
                _ = unsafe sending.fill { buffer in
                    guard let next = rest.popFirst() else { return .end }
                    unsafe buffer.copyBytes(from: Array(next.utf8))
                    return .bytes(next.utf8.count)
                }
                continue
            }
            text += String(decoding: sending.bytes[sending.start...].prefix(3), as: UTF8.self)
            sending.sent(min(3, sending.bytes.count - sending.start))
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
