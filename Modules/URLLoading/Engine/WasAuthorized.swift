internal import SallyportCore
internal import Synchronization

/// Whether `authorize()` has succeeded in this process: what a store says of an earlier one does not count.
final class WasAuthorized: Sendable {
    private let gate: any AccessGate
    private let isNoted = Atomic(false)

    init(_ gate: any AccessGate) { self.gate = gate }

    func note() { isNoted.store(true, ordering: .releasing) }

    /// A gate without changes is asked.
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
