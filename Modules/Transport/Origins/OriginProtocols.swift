internal import SallyportEventLoop

/// The origins whose servers have chosen HTTP/1.1 (RFC 7301), for all paths of one loop. On the loop only.
///
/// A server may start to support HTTP/2 at any time, so an entry is valid for an hour. It only decides how exchanges
/// are carried: if it is wrong, HTTP/1.1 is used.
final class OriginProtocols {
    private static let lifetime = Duration.seconds(3600)
    /// The most entries; beyond that, all are removed.
    private static let limit = 4096
    private var known: [Origin: LoopInstant] = [:]

    func learned(_ origin: Origin, isMultiplexed: Bool, at now: LoopInstant) {
        if isMultiplexed { return known[origin] = nil }
        if known.count >= Self.limit { known = [:] }
        known[origin] = now.advanced(by: Self.lifetime)
    }

    /// Whether the origin takes one exchange at a time on each connection.
    func isOneByOne(_ origin: Origin, at now: LoopInstant) -> Bool {
        guard let end = known[origin] else { return false }
        return now < end
    }
}
