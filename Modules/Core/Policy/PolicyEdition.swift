internal import Synchronization

/// One published policy, for as long as it is in force: constant but for its end.
///
/// Who was given something under a policy keeps its edition, and sees by it at any later moment whether the same policy
/// still holds, without a lock and without asking again.
package final class PolicyEdition: Sendable {
    /// Counts what was published.
    package let number: UInt64
    private let lease: (any PolicyLease)?
    private let isReplaced = Atomic(false)

    /// - Parameter lease: until when the policy holds if nothing replaces it; nil for no end.
    package init(number: UInt64, lease: (any PolicyLease)? = nil) {
        self.number = number
        self.lease = lease
    }

    /// Whether nothing was published since, and the lease goes on. Once false, it stays false but where the clocks of a
    /// lease are set back.
    package var isInForce: Bool { !isReplaced.load(ordering: .acquiring) && !isLeaseOver }

    package var isLeaseOver: Bool { lease?.isOver ?? false }

    /// Something else is published in its place. What is judged afterwards is judged by that.
    func replace() { isReplaced.store(true, ordering: .releasing) }
}

/// The time for which a policy holds.
package protocol PolicyLease: Sendable {
    /// Read for each request, twice: must cost no more than reading clocks.
    var isOver: Bool { get }
}
