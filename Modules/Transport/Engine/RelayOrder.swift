internal import SallyportCore
internal import SallyportEventLoop

/// The order in which the relays of a cluster are tried: drawn at random once for a pool, so that connections are
/// reused, with recently failed relays at the end.
struct RelayOrder {
    /// How long a relay that failed is tried last.
    private static let penalty = Duration.seconds(30)

    private let drawn: [Endpoint]
    private var failures: [Endpoint: LoopInstant] = [:]

    init(_ access: RelayAccess?) {
        var generator = SystemRandomNumberGenerator()
        drawn = ServerSelection.order(access?.relays ?? [], priority: \.priority, using: &generator).map(\.endpoint)
    }

    mutating func failed(_ relay: Endpoint, _ now: LoopInstant) { failures[relay] = now.advanced(by: Self.penalty) }

    mutating func order(_ now: LoopInstant) -> ArraySlice<Endpoint> {
        guard !failures.isEmpty else { return drawn[...] }
        failures = failures.filter { $0.value > now }
        return (drawn.filter { failures[$0] == nil } + drawn.filter { failures[$0] != nil })[...]
    }
}
