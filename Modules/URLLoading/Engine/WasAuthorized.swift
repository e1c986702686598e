internal import SallyportCore
internal import Synchronization

/// Whether `authorize()` has succeeded in this process; that a store says so of an earlier process does not count.
final class WasAuthorized: Sendable {
    private let gate: any AccessGate
    private let isNoted = Atomic(false)

    init(_ gate: any AccessGate) { self.gate = gate }

    func note() { isNoted.store(true, ordering: .releasing) }

    /// A gate that reports no changes is asked each time.
    var isTrue: Bool {
        if isNoted.load(ordering: .acquiring) { return true }
        do throws(AccessDenied) {
            try gate.checkAuthorized()
            note()
            return true
        } catch {
            return false
        }
    }
}
