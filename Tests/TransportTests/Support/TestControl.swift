import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport

/// A load that is suspended, resumed and given a priority by the test.
final class TestControl: TransferControl {
    private struct State {
        var isSuspended = false
        var priority = 0.5
        /// What is answered first.
        var answers: [Bool] = []
        var listeners: [UInt64: @Sendable () -> Void] = [:]
        var next: UInt64 = 0
    }

    private let state = Lock(State())

    var isSuspended: Bool {
        state.withLock { $0.answers.isEmpty ? $0.isSuspended : $0.answers.removeFirst() }
    }

    var priority: Double { state.withLock { $0.priority } }
    var listeners: Int { state.withLock { $0.listeners.count } }

    /// How many of the answers are left.
    var answers: Int { state.withLock { $0.answers.count } }

    func set(_ isSuspended: Bool, priority: Double = 0.5) {
        state.withLock { ($0.isSuspended, $0.priority) = (isSuspended, priority) }
        tell()
    }

    /// - Parameter answers: to the next questions whether it is suspended: it changes between them.
    func answer(_ answers: [Bool]) {
        state.withLock { $0.answers = answers }
        tell()
    }

    func tell() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener() }
    }

    func attach(_ listener: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.next += 1
            state.listeners[state.next] = listener
            return state.next
        }
    }

    func detach(_ number: UInt64) { state.withLock { $0.listeners[number] = nil } }
    func began(until deadline: ContinuousClock.Instant) {}
    func proceed() async throws(LoadError) {}
    func waits(_ isWaiting: Bool) {}
    func sent(_ bytes: Int64, of total: Int64?) {}
}
