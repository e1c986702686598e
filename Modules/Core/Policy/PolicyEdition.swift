internal import Synchronization

/// One published policy, for as long as it is in force: constant except for its end.
///
/// A component that got an answer under a policy keeps the policy's edition, which shows at any later time whether the
/// same policy is still in force, without a lock and without asking again.
package final class PolicyEdition: Sendable {
    /// The number of this publication.
    package let number: UInt64
    private let lease: (any PolicyLease)?
    private let isReplaced = Atomic(false)

    /// - Parameter lease: until when the policy is valid if nothing replaces it; nil for no end.
    package init(number: UInt64, lease: (any PolicyLease)? = nil) {
        self.number = number
        self.lease = lease
    }

    /// Whether this is still the last publication, and the lease has not ended. Once false, it stays false, unless the
    /// clocks of a lease are set back.
    package var isInForce: Bool { !isReplaced.load(ordering: .acquiring) && !isLeaseOver }

    package var isLeaseOver: Bool { lease?.isOver ?? false }

    /// Another policy is published instead. Later decisions are made by that.
    func replace() { isReplaced.store(true, ordering: .releasing) }
}

/// The time for which a policy is valid. A class: each request asks it, and would copy a struct first.
package protocol PolicyLease: AnyObject, Sendable {
    /// Read twice for each request: must cost no more than reading clocks.
    var isOver: Bool { get }
}
