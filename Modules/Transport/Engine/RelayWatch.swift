internal import SallyportCore
internal import SallyportEventLoop

/// Looks after the relays of a pool whose members have another one to turn to, of this cluster or of the other one: goes
/// on to the next one if a relay does not take a connection in time, and suspects one that takes requests and says
/// nothing. One timer for a pool, which runs only while something waits for a relay.
final class RelayWatch {
    /// How long a relay may take for the TCP connection and the handshake while another one is left, and how long it may
    /// say nothing to a request before it is asked whether it is there.
    static let patience = Duration.milliseconds(1500)
    private static let interval = Duration.milliseconds(500)

    private unowned let pool: Pool
    private var isArmed = false
    private lazy var timer = LoopTimer { [unowned self] in fired() }

    init(pool: Pool) { self.pool = pool }

    func stop() { pool.loop.set(timer, at: nil) }

    func watch() {
        guard !isArmed else { return }
        isArmed = true
        pool.loop.set(timer, at: pool.now.advanced(by: Self.interval))
    }

    private func fired() {
        isArmed = false
        let now = pool.now
        var isNeeded = false
        for member in pool.allMembers where pool.waitsForRelay(member, at: now) { isNeeded = true }
        if isNeeded { watch() }
        pool.scheduleTurn()
    }
}
