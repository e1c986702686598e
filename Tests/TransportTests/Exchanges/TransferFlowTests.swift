import SallyportCore
import SallyportEventLoop
import Testing

@testable import SallyportTransport

/// Which directions are paused, and when a transfer is overdue.
struct TransferFlowTests {
    private static let (receive, send) = (Int32(1), Int32(4))

    @Test func fullReaderPausesReceivingUntilItHasRoom() {
        var flow = TransferFlow()
        #expect(flow.mayReceive && !flow.readerHasRoom() && flow.bits(isSendingPaused: false) == 0)
        flow.readerIsFull()
        #expect(!flow.mayReceive && flow.bits(isSendingPaused: false) == Self.receive)
        #expect(flow.bits(isSendingPaused: true) == Self.receive | Self.send)
        #expect(flow.readerHasRoom() && flow.mayReceive && flow.bits(isSendingPaused: true) == Self.send)
    }

    @Test func suspensionPausesBothDirectionsAndKeepsTheReadersPause() {
        var flow = TransferFlow()
        flow.readerIsFull()
        #expect(flow.hold(true, hasSent: true) && !flow.hold(true, hasSent: true))
        #expect(flow.bits(isSendingPaused: false) == Self.receive | Self.send)
        #expect(flow.hold(false, hasSent: true) && flow.bits(isSendingPaused: false) == Self.receive)
    }

    @Test func suspensionBeforeTheRequestIsMadeWhenTheTurnEnds() {
        var flow = TransferFlow()
        #expect(!flow.hold(true, hasSent: false) && !flow.turnEnds())
        #expect(flow.requestIsSent() && flow.turnEnds() && !flow.turnEnds())
    }

    @Test func idlenessCountsFromTheLastByteAndNotWhilePaused() {
        var clock = ExchangeClock(deadline: nil, idleTimeout: .seconds(10))
        let start = LoopInstant.now
        clock.active(at: start)
        func after(_ seconds: Int) -> LoopInstant { start.advanced(by: .seconds(seconds)) }
        func failure(_ seconds: Int, isPaused: Bool = false, hasBegun: Bool = true) -> LoadError? {
            clock.overdue(at: after(seconds), hasBegun: hasBegun, isPaused: isPaused, step: .response)
        }
        #expect(failure(9) == nil && failure(11, hasBegun: false) == nil)
        #expect(failure(11)?.code == .idleTimeout)
        #expect(failure(11, isPaused: true) == nil && failure(20) == nil && failure(22)?.code == .idleTimeout)
    }

    @Test func deadlineCountsAlsoBeforeTheStartAndWhilePaused() {
        var clock = ExchangeClock(deadline: .now + .seconds(5), idleTimeout: .seconds(60))
        let late = LoopInstant.now.advanced(by: .seconds(6))
        let failure = clock.overdue(at: late, hasBegun: false, isPaused: true, step: .connect)
        #expect(failure?.code == .resourceTimeout && failure?.step == .connect)
    }
}
