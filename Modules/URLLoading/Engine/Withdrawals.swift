internal import SallyportBase
internal import SallyportCore

/// The withdrawals of an instance's access, for answers that came before one of them: a body whose last byte is here
/// has no transfer that a withdrawal could end.
final class Withdrawals: Sendable {
    private struct Withdrawal: Sendable {
        let number: Int
        let reason: LoadError
    }

    private let newest = Latest<Withdrawal>()

    fileprivate var count: Int { newest.value?.number ?? 0 }

    /// Called for one after another, by an observer of access.
    func note(_ reason: LoadError) { newest.set(Withdrawal(number: count + 1, reason: reason)) }

    /// The time from now until the next one.
    var period: AccessPeriod { AccessPeriod(of: self) }

    fileprivate func check(since earlier: Int) throws(LoadError) {
        guard let withdrawal = newest.value, withdrawal.number != earlier else { return }
        throw withdrawal.reason
    }
}

/// The time between two withdrawals: what was loaded in it is not passed to the app after it, even if access was given
/// back since.
struct AccessPeriod: Sendable {
    private let withdrawals: Withdrawals
    private let count: Int

    init(of withdrawals: Withdrawals) {
        self.withdrawals = withdrawals
        count = withdrawals.count
    }

    /// Costs an atomic read, because each chunk of a body asks.
    ///
    /// - Throws: `withdrawn` once the period is over.
    func check() throws(LoadError) { try withdrawals.check(since: count) }
}
