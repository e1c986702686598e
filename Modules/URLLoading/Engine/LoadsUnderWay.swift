internal import SallyportBase
internal import SallyportCore

/// The loads that no transport knows now: those in the hands of plugins' handlers, and those that wait for a connection
/// or, as streams do too, for the app's answer. Withdrawal and invalidation end them by a plain call.
final class LoadsUnderWay: Sendable {
    typealias End = @Sendable (LoadError) -> Void

    private struct State {
        var next: UInt64 = 0
        var loads: [UInt64: (tag: String, end: End)] = [:]
    }

    private let state = Lock(State())

    /// - Parameters:
    ///   - tag: the session's.
    ///   - end: ends the load with a reason. Called from any thread, more than once; must not block.
    /// - Returns: what ``remove(_:)`` takes.
    func insert(_ tag: String, end: @escaping End) -> UInt64 {
        state.withLock { state in
            state.next += 1
            state.loads[state.next] = (tag, end)
            return state.next
        }
    }

    func remove(_ number: UInt64) { state.withLock { _ = $0.loads.removeValue(forKey: number) } }

    var count: Int { state.withLock { $0.loads.count } }

    /// Ends the loads of the sessions whose tag matches.
    func end(with failure: LoadError, where isAffected: (String) -> Bool = { _ in true }) {
        let loads = state.withLock { Array($0.loads.values) }
        for load in loads where isAffected(load.tag) { load.end(failure) }
    }
}
