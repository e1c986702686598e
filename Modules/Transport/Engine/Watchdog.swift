internal import SallyportCore
internal import SallyportEventLoop

/// Ends members that are idle or late. One timer for a pool, set to the earliest instant at which a member may be
/// overdue; so a request costs nothing while an earlier one is running.
final class Watchdog {
    private weak var pool: Pool?
    private var armed = LoopInstant.never
    private lazy var timer = LoopTimer { [unowned self] in fired() }

    /// Called once, by the pool.
    func guards(_ pool: Pool) { self.pool = pool }

    func stop() { pool?.loop.set(timer, at: nil) }

    func watch(_ member: any PoolMember) { arm(member.dueAt) }

    private func arm(_ instant: LoopInstant) {
        guard instant < armed else { return }
        armed = instant
        pool?.loop.set(timer, at: instant)
    }

    private func fired() {
        armed = .never
        guard let pool else { return }
        let now = pool.now
        for member in pool.allMembers {
            if let failure = member.overdue(at: now) { pool.end(member, failure) } else { arm(member.dueAt) }
        }
        pool.scheduleTurn()
    }
}
