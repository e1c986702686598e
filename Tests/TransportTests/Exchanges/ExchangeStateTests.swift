import HTTPTypes
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import Testing

@testable import SallyportTransport

/// Whether an exchange is sent, and sent again; when it is late; and in which directions its bytes flow.
struct ExchangeStateTests {
    private func state(
        _ method: HTTPRequest.Method = .get, over connection: UInt64? = nil,
        _ change: (inout ExchangeRequest) -> Void = { _ in }
    ) throws -> ExchangeState {
        var request = ExchangeRequest(method, try RequestURL("http://server.example/"))
        request.requiredConnection = connection
        change(&request)
        return ExchangeState(request)
    }

    // MARK: Sending

    @Test func requestThatMayNotBeSentTwiceFailsOnce() throws {
        var state = try state(.post)
        #expect(!state.isSendingBegun)
        #expect(state.willSend(over: nil, hasSentNothing: true, canStartAnew: true) == .send)
        #expect(state.isSendingBegun && !state.connectionEnded(hasSentNothing: false))
        #expect(state.willSend(over: nil, hasSentNothing: false, canStartAnew: true) == .notTwice)
    }

    @Test func requestOfWhichNothingWasSentIsSentAgain() throws {
        var state = try state(.post)
        #expect(state.willSend(over: nil, hasSentNothing: true, canStartAnew: true) == .send)
        #expect(state.connectionEnded(hasSentNothing: true))
        #expect(state.willSend(over: nil, hasSentNothing: true, canStartAnew: true) == .send)
        #expect(state.retries == 1)
    }

    @Test func idempotentRequestIsSentAgain() throws {
        var state = try state()
        _ = state.willSend(over: nil, hasSentNothing: true, canStartAnew: true)
        #expect(state.connectionEnded(hasSentNothing: false))
        #expect(state.willSend(over: nil, hasSentNothing: false, canStartAnew: true) == .send)
    }

    @Test func requestIsSentOverItsOwnConnectionOnly() throws {
        var state = try state(over: 3)
        #expect(
            state.willConnect(hasSentNothing: true, canStartAnew: true) == .connectionIsGone(isUnsent: true))
        #expect(
            state.willSend(over: 4, hasSentNothing: true, canStartAnew: true) == .connectionIsGone(isUnsent: true))
        #expect(state.willSend(over: 3, hasSentNothing: true, canStartAnew: true) == .send)
    }

    @Test func bytesThatWereSentAreRemembered() throws {
        var state = try state()
        #expect(!state.hasSentBytes)
        state.sentBytes()
        #expect(state.hasSentBytes)
    }

    // MARK: Flow

    @Test func suspendedExchangeReceivesNothing() throws {
        var state = try state()
        _ = state.willSend(over: nil, hasSentNothing: true, canStartAnew: true)
        #expect(state.controlChanged(isSuspended: true) && !state.flow.mayReceive)
        #expect(state.controlChanged(isSuspended: false) && state.flow.mayReceive)
        #expect(state.controlChanged(isSuspended: false) == false)
    }

    @Test func exchangeThatIsSuspendedBeforeItIsSentPausesWhenTheTurnEnds() throws {
        var state = try state()
        #expect(!state.controlChanged(isSuspended: true) && !state.turnEnded())
        _ = state.willSend(over: nil, hasSentNothing: true, canStartAnew: true)
        #expect(state.requestWasSent() && state.turnEnded() && !state.turnEnded())
    }

    @Test func fullPipePausesReceivingUntilItHasRoom() throws {
        var state = try state()
        state.pushed(.more)
        state.pushed(.closed)
        #expect(state.flow.mayReceive)
        state.pushed(.full)
        #expect(!state.flow.mayReceive && state.readerHasRoom() && state.flow.mayReceive && !state.readerHasRoom())
    }

    // MARK: Time

    @Test func timeWithoutAByteCountsFromTheLastOne() throws {
        var state = try state { $0.idleTimeout = .seconds(10) }
        let start = LoopInstant.now
        func failure(_ seconds: Int, isSendingPaused: Bool = false) -> LoadError? {
            state.timePassed(
                until: start.advanced(by: .seconds(seconds)), hasBegun: true, isSendingPaused: isSendingPaused,
                step: .request)
        }
        state.moved(at: start)
        #expect(failure(9) == nil && failure(10)?.code == .idleTimeout)
        state.moved(at: start.advanced(by: .seconds(5)))
        #expect(failure(14) == nil && failure(15)?.step == .request)
        #expect(failure(15, isSendingPaused: true) == nil && failure(24) == nil && failure(25) != nil)
    }

    @Test func timeIsNotIdleWhileTheReaderIsFull() throws {
        var state = try state { $0.idleTimeout = .seconds(10) }
        let start = LoopInstant.now
        state.moved(at: start)
        state.pushed(.full)
        let late = start.advanced(by: .seconds(60))
        #expect(state.timePassed(until: late, hasBegun: true, isSendingPaused: false, step: .response) == nil)
    }

    @Test func deadlineCountsEvenBeforeItBegins() throws {
        var state = try state { $0.deadline = .now }
        let failure = state.timePassed(
            until: .now.advanced(by: .seconds(1)), hasBegun: false, isSendingPaused: false, step: .routing)
        #expect(failure?.code == .resourceTimeout)
        #expect(state.dueAt(hasBegun: false) < .never)
    }
}
