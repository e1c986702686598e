internal import SallyportBase
package import SallyportCore
internal import Synchronization

/// The withdrawals of an instance's access, for what came before one of them: a body whose last byte is here, and a
/// stream that both sides have ended, have no connection that a withdrawal could end.
package final class Withdrawals: Sendable {
    private let number = Atomic(0)
    private let reason = Latest<LoadError>()

    package init() {}

    fileprivate var count: Int { number.load(ordering: .acquiring) }

    /// Notes a change that is a withdrawal. Called for one change after another, by an observer of access.
    package func note(_ change: AccessChange) {
        guard let failure = change.ending.map({ LoadError($0) }), failure.code == .withdrawn else { return }
        // Set first, so that it is there for a reader that sees the new number.
        reason.set(failure)
        number.add(1, ordering: .releasing)
    }

    /// The time from now until the next one.
    package var period: AccessPeriod { AccessPeriod(of: self) }

    fileprivate func check(since earlier: Int) throws(LoadError) {
        // Each request asks, so the reason is copied only after a withdrawal.
        guard count != earlier, let reason = reason.value else { return }
        throw reason
    }
}

/// The time between two withdrawals: what was loaded in it is not passed to the app after it, even if access was given
/// back since.
package struct AccessPeriod: Sendable {
    private let withdrawals: Withdrawals
    private let count: Int

    fileprivate init(of withdrawals: Withdrawals) {
        self.withdrawals = withdrawals
        count = withdrawals.count
    }

    package var isOver: Bool { withdrawals.count != count }

    /// Costs an atomic read, because each chunk of a body or a stream asks.
    ///
    /// - Throws: `withdrawn` once the period is over.
    package func check() throws(LoadError) { try withdrawals.check(since: count) }
}
