import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportReachability

/// The actor over a gateway that a test plays, with times a tenth as long.
@Suite(.timeLimit(.minutes(1))) struct ReachabilityTests {
    private final class Source: LinkSource {
        let channel = Board(ControlChannel.none)
        let isAnswering = Lock(true)
        let calls = Lock<[Bool]>([])
        let probes = Lock(0)

        func channelChanges() -> AsyncStream<ControlChannel> { channel.values() }
        func callChannel(drops: Bool) { calls.withLock { $0.append(drops) } }

        func probe(within limit: Duration) async throws(LoadError) -> ConnectionFacts? {
            probes.withLock { $0 += 1 }
            if isAnswering.withLock({ $0 }) { return Self.connection }
            throw LoadError(.cannotConnect, at: .connect, "Nobody listens.")
        }

        static var connection: ConnectionFacts {
            var facts = ConnectionFacts()
            (facts.localAddress, facts.remoteAddress) = ("127.0.0.1", "127.0.0.1")
            return facts
        }
    }

    private final class Listener: ReachabilityDelegate {
        let heard = Lock<[LinkStatus]>([])

        func reachability(_ reachability: Reachability, didChange state: ReachabilityState) {
            heard.withLock { $0.append(state.status) }
        }
    }

    private static var times: LinkTimes {
        var times = LinkTimes()
        times.silence = .milliseconds(250)
        times.silentLoss = .milliseconds(460)
        times.loss = .milliseconds(290)
        times.eager = .milliseconds(50)
        times.patient = .milliseconds(340)
        times.steady = .milliseconds(200)
        return times
    }

    private func next(
        _ changes: inout AsyncStream<ReachabilityState>.Iterator, _ isWanted: (ReachabilityState) -> Bool
    ) async -> ReachabilityState? {
        while let state = await changes.next(isolation: #isolation) { if isWanted(state) { return state } }
        return nil
    }

    @Test func itFollowsTheStreamAndProbesWhereItBreaks() async throws {
        let source = Source()
        var times = Self.times
        // Not what this is about.
        (times.silence, times.silentLoss) = (.seconds(20), .seconds(30))
        let reachability = Reachability(source: source, times: times)
        let listener = Listener()
        reachability.setDelegate(listener)
        let givenUp = Lock(0)
        reachability.whenGivenUp { givenUp.withLock { $0 += 1 } }
        var changes = reachability.changes().makeAsyncIterator()
        #expect(reachability.state == ReachabilityState() && reachability.infrastructure == .unknown)
        #expect(await changes.next()?.status == .unknown)
        // Set before the first look: a stream that was not there yet would be counted as a loss after a while.
        source.isAnswering.withLock { $0 = false }
        source.channel.set(.open(heard: 0, over: Source.connection))
        async let running: Void = reachability.run()
        let first = await next(&changes) { $0.status == .reachable(via: .loopback) }
        #expect(first?.isPushChannelAvailable == true && first?.isNetworkAvailable == true)
        #expect(reachability.infrastructure == .reachable && reachability.isPushChannelAvailable)

        source.channel.set(.lost)
        let lost = await next(&changes) { $0.status == .notReachable }
        #expect(lost?.isPushChannelAvailable == false)
        #expect(reachability.infrastructure == .unreachable)
        #expect(source.calls.withLock { $0 } == [true] && givenUp.withLock { $0 } == 1)
        source.isAnswering.withLock { $0 = true }
        #expect(await next(&changes) { $0.status.isReachable } != nil)
        #expect(source.calls.withLock { $0 } == [true, true] && givenUp.withLock { $0 } == 2)
        #expect(try await eventually { listener.heard.withLock { $0.last?.isReachable } == true })

        reachability.shutdown()
        await running
        #expect(reachability.state == ReachabilityState() && reachability.infrastructure == .unknown)
        while await changes.next() != nil {}
    }

    /// The stream stands before it looks, so that the one change comes with the first look: it passed the delegate by where it
    /// came before the delegate's task had begun to follow.
    @Test func theDelegateHearsOfTheFirstChange() async throws {
        for _ in 0..<50 {
            let source = Source()
            source.channel.set(.open(heard: 0, over: Source.connection))
            let reachability = Reachability(source: source)
            let listener = Listener()
            reachability.setDelegate(listener)
            let task = Task { await reachability.run() }
            #expect(try await eventually { listener.heard.withLock { $0.last?.isReachable } == true })
            task.cancel()
            await task.value
        }
    }

    @Test func aGatewayThatFallsSilentIsOutOfReach() async throws {
        let source = Source()
        source.isAnswering.withLock { $0 = false }
        source.channel.set(.open(heard: 0, over: Source.connection))
        var times = Self.times
        // A busy observer is told only the second of two changes in a row: this gives it time to see the first.
        (times.silence, times.silentLoss) = (.seconds(2), .seconds(4))
        let reachability = Reachability(source: source, times: times)
        var changes = reachability.changes().makeAsyncIterator()
        let task = Task { await reachability.run() }
        #expect(await next(&changes) { $0.status.isReachable } != nil)
        #expect(await next(&changes) { $0.status == .notReachable } != nil)
        task.cancel()
        await task.value
        #expect(reachability.status == .unknown)
    }

    /// Words for longer than a silence may last, with room for a machine that is busy elsewhere.
    @Test func heartbeatsKeepItWithinReach() async throws {
        let source = Source()
        source.isAnswering.withLock { $0 = false }
        var times = Self.times
        (times.silence, times.silentLoss) = (.seconds(4), .seconds(6))
        let reachability = Reachability(source: source, times: times)
        let task = Task { await reachability.run() }
        for beat in 0..<80 {
            source.channel.set(.open(heard: UInt64(beat), over: Source.connection))
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(reachability.status == .reachable(via: .loopback))
        #expect(source.calls.withLock { $0 }.isEmpty)
        task.cancel()
        await task.value
    }

    @Test func withoutAGatewayItIsNotReachable() async throws {
        let source = Source()
        source.isAnswering.withLock { $0 = false }
        let reachability = Reachability(source: source, times: Self.times)
        var changes = reachability.changes().makeAsyncIterator()
        async let running: Void = reachability.run()
        #expect(await next(&changes) { $0.status == .notReachable } != nil)
        reachability.shutdown()
        await running
    }

    @Test func itIsMadeRunAndDroppedFiftyTimes() async {
        for _ in 0..<50 {
            let source = Source()
            let reachability = Reachability(source: source, times: Self.times)
            let task = Task { await reachability.run() }
            source.channel.set(.open(heard: 0, over: nil))
            await Task.yield()
            task.cancel()
            await task.value
        }
    }

    @Test(arguments: [
        (LinkStatus.unknown, 0, 0), (.notReachable, 0, 0), (.reachable(via: .wireless), 1, 1),
        (.reachable(via: .cellular), 2, 2), (.reachable(via: .wired), 3, 1), (.reachable(via: .tunnel), 4, 1),
        (.reachable(via: .virtual), 5, 1), (.reachable(via: .loopback), 6, 1), (.reachable(via: nil), 7, 1),
    ]) func statesHaveTheirNumbers(_ status: LinkStatus, _ number: Int, _ documented: Int) {
        #expect(status.number == number && status.documentedNumber == documented)
    }
}
