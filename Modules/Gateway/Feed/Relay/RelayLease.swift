/// How long tunnels may go on without word: at a relay from its control gateways, at a gateway from its store. A value;
/// times are the boot clock's, which goes on while the machine sleeps.
struct RelayLease: Sendable, Hashable {
    typealias Instant = ContinuousClock.Instant

    let length: Duration
    /// When the relay was last known to have all that there was.
    private var word: Instant?
    /// Word of before this time does not count.
    private var ended: Instant?

    init(_ length: Duration) { self.length = length }

    /// There was word from the store at this time, and nothing newer than what is in force here.
    mutating func heard(at time: Instant) {
        if let ended, time <= ended { return }
        word = max(word ?? time, time)
    }

    /// Ends the lease at once: the relay was removed.
    mutating func end(at now: Instant) { (word, ended) = (nil, now) }

    /// Nil if there is no lease.
    var expiry: Instant? { word?.advanced(by: length) }

    func isOver(at now: Instant) -> Bool { expiry.map { $0 <= now } ?? true }

    /// How long it lasts without further word.
    func rest(at now: Instant) -> Duration { expiry.map { max(.zero, now.duration(to: $0)) } ?? .zero }
}
