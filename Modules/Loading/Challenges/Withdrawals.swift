internal import SallyportBase
package import SallyportCore

/// The withdrawals of an instance's access, for what came before one of them: a body whose last byte is here, and a
/// stream that both sides have ended, have no connection that a withdrawal could end.
package final class Withdrawals: Sendable {
    private struct Withdrawal: Sendable {
        let number: Int
        let reason: LoadError
    }

    private let newest = Latest<Withdrawal>()

    package init() {}

    fileprivate var count: Int { newest.value?.number ?? 0 }

    /// Notes a change that is a withdrawal. Called for one change after another, by an observer of access.
    package func note(_ change: AccessChange) {
        guard let reason = change.ending.map({ LoadError($0) }), reason.code == .withdrawn else { return }
        newest.set(Withdrawal(number: count + 1, reason: reason))
    }

    /// The time from now until the next one.
    package var period: AccessPeriod { AccessPeriod(of: self) }

    fileprivate func check(since earlier: Int) throws(LoadError) {
        guard let withdrawal = newest.value, withdrawal.number != earlier else { return }
        throw withdrawal.reason
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
