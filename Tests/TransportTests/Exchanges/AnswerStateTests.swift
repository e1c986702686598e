import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportTransport

/// What an exchange passes on of its answer, and how it ends for its caller.
struct AnswerStateTests {
    private typealias Arrival = AnswerState.Arrival
    private static let head = Arrival(isHeadWhole: true)
    private static let bytes = Arrival(isHeadWhole: true, hasBytes: true)

    private func state(_ method: HTTPRequest.Method = .get, collectsUpTo limit: Int? = nil) throws -> AnswerState {
        var request = ExchangeRequest(method, try RequestURL("http://server.example/"))
        request.collectsUpTo = limit.map { .bytes($0) }
        return AnswerState(request)
    }

    /// The state of an upload that waits for `100 Continue`.
    private func expecting() throws -> AnswerState {
        var request = ExchangeRequest(.post, try RequestURL("http://server.example/"), body: .bytes([1]))
        request.continueTimeout = .seconds(1)
        return AnswerState(request)
    }

    /// The framing of an answer over HTTP/1.1; over HTTP/2 if there is no minor version.
    private func framing(_ status: Int = 200, length: Int? = nil, minorVersion: Int? = 1) -> AnswerFraming {
        var framing = AnswerFraming(status: status, minorVersion: minorVersion)
        if let length {
            let isTaken = unsafe Array("\(length)".utf8).withUnsafeBytes { unsafe framing.takes(.contentLength, $0) }
            #expect(isTaken)
        }
        return framing
    }

    // MARK: Delivery

    @Test func answerThatIsWholeInOneTurnNeedsNoPipe() throws {
        var state = try state()
        #expect(state.headArrived(framing(), canStartAnew: true) == .goesOn(isUnauthorized: false))
        #expect(state.ended(Self.bytes, isComplete: true) == .delivered(.whole))
        #expect(state.ended(Self.bytes, isComplete: true) == .delivered(.nothing))
    }

    @Test func headIsPassedOnWhenItsTurnEnds() throws {
        var state = try state()
        #expect(state.turnEnded(Arrival()) == .nothing)
        #expect(state.turnEnded(Self.bytes) == .head)
        #expect(state.turnEnded(Self.head) == .nothing)
        #expect(state.turnEnded(Self.bytes) == .bytes)
        #expect(state.ended(Self.head, isComplete: true) == .delivered(.nothing))
    }

    @Test func bytesBehindTheLastTurnComeWithTheEnd() throws {
        var state = try state()
        #expect(state.turnEnded(Self.head) == .head)
        #expect(state.ended(Self.bytes, isComplete: true) == .delivered(.bytes))
    }

    @Test func bytesMayGoIntoThePipeBeforeTheHeadIsPassedOn() throws {
        var state = try state()
        #expect(state.bytesAreDue() && state.bytesAreDue())
        #expect(state.ended(Self.head, isComplete: true) == .delivered(.head))
    }

    @Test func trailersNeedAPipe() throws {
        var state = try state()
        let arrival = Arrival(isHeadWhole: true, hasTrailers: true, hasBytes: true)
        #expect(state.ended(arrival, isComplete: true) == .delivered(.head))
    }

    // MARK: Collected bodies

    @Test func collectedBodyIsPassedOnWhenItIsWhole() throws {
        var state = try state(collectsUpTo: 4)
        _ = state.headArrived(framing(length: 4), canStartAnew: true)
        #expect(state.isCollected && !state.bytesAreDue())
        #expect(state.turnEnded(Self.bytes) == .nothing)
        #expect(state.ended(Self.bytes, isComplete: true) == .delivered(.whole))
    }

    @Test func brokenCollectedBodyIsPassedOnWithAPipeThatFails() throws {
        var state = try state(collectsUpTo: 4)
        _ = state.headArrived(framing(length: 4), canStartAnew: true)
        #expect(state.ended(Self.bytes, isComplete: false) == .delivered(.head))
    }

    private static let uncollected: [(HTTPRequest.Method, Int, length: Int?, limit: Int?)] = [
        (.get, 200, 5, 4), (.get, 200, nil, 4), (.get, 404, 4, 4), (.head, 200, 4, 4), (.get, 200, 4, nil),
    ]

    @Test(arguments: uncollected)
    func bodyIsNotCollected(_ method: HTTPRequest.Method, _ status: Int, _ length: Int?, _ limit: Int?) throws {
        var state = try state(method, collectsUpTo: limit)
        _ = state.headArrived(framing(status, length: length), canStartAnew: true)
        #expect(!state.isCollected)
    }

    @Test func onlyACollectedBodyOverHTTP2MayWaitInThePipeAsAWhole() throws {
        let (collected, streamed) = (try state(collectsUpTo: 7), try state())
        #expect(collected.pipeLimit(framing(minorVersion: nil)) == 7)
        #expect(collected.pipeLimit(framing()) == nil && streamed.pipeLimit(framing(minorVersion: nil)) == nil)
    }

    // MARK: Ends

    @Test(arguments: [true, false])
    func endBeforeTheHeadIsNoAnswer(_ isComplete: Bool) throws {
        var state = try state()
        #expect(state.turnEnded(Arrival()) == .nothing)
        #expect(state.ended(Arrival(), isComplete: isComplete) == .unanswered)
    }

    @Test func failureBehindTheHeadComesByThePipe() throws {
        var state = try state()
        #expect(state.ended(Self.bytes, isComplete: false) == .delivered(.head))
    }

    @Test func failureOfABodyThatIsReadComesByThePipe() throws {
        var state = try state()
        #expect(state.turnEnded(Self.head) == .head)
        #expect(state.ended(Self.head, isComplete: false) == .delivered(.nothing))
    }

    // MARK: Heads

    @Test func refusedExpectationIsNoAnswer() throws {
        var state = try expecting()
        #expect(state.headArrived(framing(417), canStartAnew: true) == .expectationRefused)
        #expect(state.isExpectationRefused && state.turnEnded(Self.head) == .nothing)
        #expect(state.ended(Self.head, isComplete: false) == .expectationRefused)
    }

    @Test func refusedExpectationOfABodyThatCannotStartAnewIsAnAnswer() throws {
        var state = try expecting()
        #expect(state.headArrived(framing(417), canStartAnew: false) == .goesOn(isUnauthorized: false))
        #expect(!state.isExpectationRefused && state.turnEnded(Self.head) == .head)
    }

    @Test func unaskedRefusalOfAnExpectationIsAnAnswer() throws {
        var state = try state()
        #expect(state.headArrived(framing(417), canStartAnew: true) == .goesOn(isUnauthorized: false))
    }

    @Test func questionForTheUserIsNoted() throws {
        var state = try state()
        #expect(state.headArrived(framing(401), canStartAnew: true) == .goesOn(isUnauthorized: true))
    }
}
