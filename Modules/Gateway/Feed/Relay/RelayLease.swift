/// How long a relay may go on without word from its control gateways. A value; times are the boot clock's, which goes on
/// while the machine sleeps.
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

    func isOver(at now: Instant) -> Bool { rest(at: now) == .zero }

    /// How long it lasts without further word.
    func rest(at now: Instant) -> Duration { word.map { max(.zero, length - $0.duration(to: now)) } ?? .zero }
}
