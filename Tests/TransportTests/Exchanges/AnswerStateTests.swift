import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportTransport

/// What an exchange passes on of its answer, and how it ends for its caller.
struct AnswerStateTests {
    private static let url = try! RequestURL("http://server.example/")
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
    private static let chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    private func state(_ method: HTTPRequest.Method = .get, collectsUpTo limit: Int? = nil) -> AnswerState {
        var request = ExchangeRequest(method, Self.url)
        request.collectsUpTo = limit.map { .bytes($0) }
        return AnswerState(request)
    }

    /// The state of an upload that waits for `100 Continue`.
    private func expecting() -> AnswerState {
        var request = ExchangeRequest(.post, Self.url, body: .bytes([1]))
        request.continueTimeout = .seconds(1)
        return AnswerState(request)
    }

    @discardableResult
    private func read(_ text: String, _ state: inout AnswerState, canStartAnew: Bool = true) -> AnswerState.HeadOutcome
    {
        var position = 0
        return unsafe Array(text.utf8).withUnsafeBytes { bytes in
            unsafe state.received(lines: bytes, at: &position, canStartAnew: canStartAnew)
        }
    }

    private func receive(_ bytes: [UInt8], _ state: inout AnswerState) {
        unsafe bytes.withUnsafeBytes { unsafe state.received(body: $0) }
    }

    // MARK: Delivery

    @Test func answerThatIsWholeInOneTurnNeedsNoPipe() {
        var state = state()
        #expect(read(Self.head, &state) == .whole(isUnauthorized: false))
        receive([1, 2, 3, 4], &state)
        #expect(state.ended(isComplete: true) == .delivered(.whole([1, 2, 3, 4])))
        #expect(state.ended(isComplete: true) == .delivered(.nothing))
    }

    @Test func headIsPassedOnWhenItsTurnEnds() {
        var state = state()
        #expect(state.turnEnded() == .nothing)
        read(Self.head, &state)
        receive([1, 2], &state)
        #expect(state.turnEnded() == .head([1, 2]))
        #expect(state.turnEnded() == .nothing)
        receive([3, 4], &state)
        #expect(state.turnEnded() == .chunk([3, 4]))
        #expect(state.ended(isComplete: true) == .delivered(.nothing))
    }

    @Test func bytesBehindTheLastTurnComeWithTheEnd() {
        var state = state()
        read(Self.head, &state)
        #expect(state.turnEnded() == .head([]))
        receive([9], &state)
        #expect(state.ended(isComplete: true) == .delivered(.chunk([9])))
    }

    @Test func longChunkGoesIntoThePipeBeforeTheHeadIsPassedOn() {
        var state = state()
        read(Self.head, &state)
        receive([1, 2], &state)
        #expect(state.takeChunk(ofAtLeast: 3) == nil)
        #expect(state.takeChunk(ofAtLeast: 2) == [1, 2])
        #expect(state.ended(isComplete: true) == .delivered(.head([])))
    }

    @Test func trailersNeedAPipe() {
        var state = state()
        read(Self.chunkedHead, &state)
        receive([1], &state)
        #expect(read("A: b\r\n", &state) == .whole(isUnauthorized: false))
        #expect(state.ended(isComplete: true) == .delivered(.head([1])))
    }

    @Test func chunkIsPassedOnAsItCame() {
        var state = state()
        read(Self.head, &state)
        state.received(chunk: [5, 6])
        #expect(state.takeChunk(ofAtLeast: 1) == [5, 6])
        #expect(state.takeChunk(ofAtLeast: 1) == nil)
    }

    // MARK: Collected bodies

    @Test func collectedBodyIsPassedOnInOnePiece() {
        var state = state(collectsUpTo: 4)
        read(Self.head, &state)
        #expect(state.isGathered)
        var bytes = state.takeCollected()
        bytes += [1, 2]
        state.received(collected: bytes)
        #expect(state.turnEnded() == .nothing && state.takeChunk(ofAtLeast: 1) == nil)
        bytes = state.takeCollected()
        state.received(collected: bytes + [3, 4])
        #expect(state.ended(isComplete: true) == .delivered(.whole([1, 2, 3, 4])))
    }

    @Test func brokenCollectedBodyIsPassedOnWithAPipeThatFails() {
        var state = state(collectsUpTo: 4)
        read(Self.head, &state)
        state.received(collected: [1])
        #expect(state.ended(isComplete: false) == .delivered(.head([1])))
    }

    @Test(arguments: [(HTTPRequest.Method.get, 3), (.head, 4)])
    func bodyIsNotCollected(_ method: HTTPRequest.Method, _ limit: Int) {
        var state = state(method, collectsUpTo: limit)
        read(Self.head, &state)
        #expect(!state.isGathered)
    }

    @Test func onlyACollectedBodyOverHTTP2MayWaitInThePipeAsAWhole() {
        var (http1, http2, streamed) = (state(collectsUpTo: 1 << 20), state(collectsUpTo: 1 << 20), state())
        read(Self.head, &http1)
        for text in ["HTTP/2 200\r\n", "\r\n"] {
            read(text, &http2)
            read(text, &streamed)
        }
        #expect(http2.watermarks.high == 1 << 20 && http2.watermarks.low == 1 << 20)
        for state in [http1, streamed] { #expect(state.watermarks.high == BodyPipe.Watermarks.standard.high) }
    }

    // MARK: Ends

    @Test func failureBeforeTheHeadIsTheAnswer() {
        var state = state()
        #expect(state.ended(isComplete: false) == .unanswered)
        #expect(state.ended(isComplete: false) == .unanswered)
    }

    @Test func endWithoutAHeadIsNoAnswer() {
        var state = state()
        read("HTTP/1.1 200 OK\r\n", &state)
        #expect(state.ended(isComplete: true) == .unanswered)
    }

    @Test func failureBehindTheHeadComesByThePipe() {
        var state = state()
        read(Self.head, &state)
        receive([1], &state)
        #expect(state.ended(isComplete: false) == .delivered(.head([1])))
    }

    // MARK: Heads

    @Test func refusedExpectationIsNoAnswer() {
        var state = expecting()
        #expect(read("HTTP/1.1 417 No\r\n\r\n", &state) == .expectationRefused)
        #expect(state.isExpectationRefused && state.turnEnded() == .nothing)
        #expect(state.ended(isComplete: false) == .expectationRefused)
    }

    @Test func refusedExpectationOfABodyThatCannotStartAnewIsAnAnswer() {
        var state = expecting()
        #expect(read("HTTP/1.1 417 No\r\n\r\n", &state, canStartAnew: false) == .whole(isUnauthorized: false))
        #expect(!state.isExpectationRefused && state.turnEnded() == .head([]))
    }

    @Test func unaskedRefusalOfAnExpectationIsAnAnswer() {
        var state = state()
        #expect(read("HTTP/1.1 417 No\r\n\r\n", &state) == .whole(isUnauthorized: false))
    }

    @Test func questionForTheUserIsNoted() {
        var state = state()
        #expect(read("HTTP/1.1 401 Who\r\n\r\n", &state) == .whole(isUnauthorized: true))
    }

    @Test(arguments: [
        ("HTTP/1.1 101 Go\r\n", LoadError.Code.protocolViolation), ("HTTP/1.1 x\r\n", .protocolViolation),
    ])
    func headThatIsNoneEndsTheExchange(_ text: String, _ code: LoadError.Code) {
        var state = state()
        guard case .failed(let failure) = read(text, &state) else { return #expect(Bool(false), "It is read.") }
        #expect(failure.code == code && failure.step == .response)
    }

    @Test func headOverTheLimitEndsTheExchange() {
        var request = ExchangeRequest(.get, Self.url)
        request.headerLimit = .bytes(40)
        var (within, over) = (AnswerState(request), AnswerState(request))
        let line = "HTTP/1.1 200 OK\r\n"
        #expect(
            read(line + "A: " + String(repeating: "a", count: 16) + "\r\n\r\n", &within)
                == .whole(isUnauthorized: false))
        guard case .failed(let failure) = read(line + "A: " + String(repeating: "a", count: 17) + "\r\n\r\n", &over)
        else {
            return #expect(Bool(false), "It is read.")
        }
        #expect(failure.code == .responseTooLarge && failure.message.contains("40 bytes"))
    }

    @Test func bodyWithoutALengthEndsWithTheConnection() {
        var (state, head) = (state(), state(.head))
        read("HTTP/1.1 200 OK\r\n\r\n", &state)
        read("HTTP/1.1 200 OK\r\n\r\n", &head)
        #expect(state.isDelimitedByClose && !head.isDelimitedByClose)
    }
}
