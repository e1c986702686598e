internal import SallyportBase
internal import SallyportCore

/// The loads that wait for a connection now, so that withdrawal and invalidation reach them.
final class WaitingLoads: Sendable {
    private struct State {
        var next: UInt64 = 0
        var loads: [UInt64: (tag: String, end: AsyncStream<LoadError>.Continuation)] = [:]
    }

    private let state = Lock(State())

    /// - Parameter tag: the session's.
    /// - Returns: what ``remove(_:)`` takes, and where the reason comes from for which the load must end.
    func insert(_ tag: String) -> (number: UInt64, end: AsyncStream<LoadError>) {
        let (stream, continuation) = AsyncStream.makeStream(of: LoadError.self, bufferingPolicy: .bufferingOldest(1))
        let number = state.withLock { state in
            state.next += 1
            state.loads[state.next] = (tag, continuation)
            return state.next
        }
        return (number, stream)
    }

    func remove(_ number: UInt64) { state.withLock { _ = $0.loads.removeValue(forKey: number) } }

    var count: Int { state.withLock { $0.loads.count } }

    /// Ends the loads of the sessions whose tag matches.
    func end(with failure: LoadError, where isAffected: (String) -> Bool = { _ in true }) {
        let loads = state.withLock { Array($0.loads.values) }
        for load in loads where isAffected(load.tag) { load.end.yield(failure) }
    }
}
