import SallyportBase
import SallyportEventLoop
import TestSupport
import Testing

@testable import SallyportReachability

/// The kernel itself, asked here: no right is needed to hear of the network.
@Suite(.timeLimit(.minutes(1))) struct NetworkMonitorTests {
    /// Owns a monitor on a loop of its own.
    private actor Owner {
        nonisolated let loop = EventLoop(name: "test-network")
        nonisolated let states = Board<NetworkState>()
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private var monitor: NetworkMonitor?

        func start() -> Bool {
            let states = states
            monitor = NetworkMonitor(on: loop) { states.set($0) }
            monitor?.start()
            return monitor != nil
        }

        func stop() {
            monitor?.stop()
            monitor = nil
        }
    }

    @Test func theFirstStateHasTheHostsOwnLoopback() async throws {
        let owner = Owner()
        #expect(await owner.start())
        var state: NetworkState?
        for await told in owner.states.values() {
            state = told
            break
        }
        let loopback = try #require(state?.interfaces.values.first { $0.kind == .loopback })
        #expect(loopback.name == "lo")
        await owner.stop()
        await owner.loop.shutdown()
    }

    @Test func itIsMadeAndDroppedFiftyTimes() async {
        let owner = Owner()
        for _ in 0..<50 {
            #expect(await owner.start())
            await owner.stop()
        }
        await owner.loop.shutdown()
    }
}
