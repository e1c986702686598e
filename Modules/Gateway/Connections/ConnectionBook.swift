/// Decides which connections a gateway keeps: a value without I/O.
///
/// Every connection arrives unauthenticated. Those that stay so are counted by source and altogether, and the oldest
/// gives way to a new one; authenticated ones never give way, and are counted by instance.
struct ConnectionBook: Sendable {
    /// Rises with each connection, so that a smaller one is an older connection.
    typealias Number = UInt64

    enum Admission: Hashable {
        /// - Parameter givesWay: the connection that is to be closed for it.
        case admitted(Number, givesWay: Number?)
        /// Authenticated peers have all descriptors there are.
        case refused
    }

    private struct Known {
        let instance: String
        /// Whether a server was dialled for it.
        var hasServer = false
    }

    private let limits: ConnectionLimits
    private var next: Number = 0
    /// No unauthenticated connection is older.
    private var oldest: Number = 0
    private var waiting: [Number: ConnectionSource] = [:]
    /// The oldest first.
    private var bySource: [ConnectionSource: [Number]] = [:]
    private var known: [Number: Known] = [:]
    private var byInstance: [String: Int] = [:]
    /// Descriptors: of connections until they are closed, and of dialled servers.
    private(set) var open = 0

    init(_ limits: ConnectionLimits) { self.limits = limits }

    var unauthenticatedCount: Int { waiting.count }
    var authenticatedCount: Int { known.count }

    /// A connection arrived.
    mutating func admit(_ source: ConnectionSource) -> Admission {
        let victim = giveWay(to: source)
        guard victim != nil || open < limits.descriptors.all else { return .refused }
        if let victim { stopWaiting(victim) }
        let number = next
        next += 1
        open += 1
        waiting[number] = source
        bySource[source, default: []].append(number)
        return .admitted(number, givesWay: victim)
    }

    /// The peer of a connection proved to be an instance in good standing; false where that has as many as it may.
    mutating func authenticated(_ number: Number, as instance: String) -> Bool {
        // One that has to give way does so, whatever it proves on its way out.
        guard waiting[number] != nil else { return false }
        guard byInstance[instance, default: 0] < limits.perInstance else { return false }
        stopWaiting(number)
        known[number] = Known(instance: instance)
        byInstance[instance, default: 0] += 1
        return true
    }

    /// A server is about to be dialled for a connection; false where no descriptor is left for it.
    mutating func dials(_ number: Number) -> Bool {
        guard open < limits.descriptors.all else { return false }
        // An unauthenticated connection is refused before anything is dialled.
        guard known[number]?.hasServer == false else { return false }
        known[number]?.hasServer = true
        open += 1
        return true
    }

    /// A connection was closed.
    mutating func left(_ number: Number) {
        open -= 1
        guard let peer = known.removeValue(forKey: number) else { return stopWaiting(number) }
        if peer.hasServer { open -= 1 }
        let count = byInstance[peer.instance, default: 1] - 1
        byInstance[peer.instance] = count > 0 ? count : nil
    }

    private mutating func giveWay(to source: ConnectionSource) -> Number? {
        if let own = bySource[source], own.count >= limits.perSource { return own.first }
        let isFull =
            waiting.count >= limits.unauthenticated || open >= limits.descriptors.all
            || open >= limits.descriptors.open && waiting.count >= limits.descriptors.arriving
        guard isFull, !waiting.isEmpty else { return nil }
        // Each number is passed once in the life of the gateway.
        while waiting[oldest] == nil { oldest += 1 }
        return oldest
    }

    private mutating func stopWaiting(_ number: Number) {
        guard let source = waiting.removeValue(forKey: number) else { return }
        bySource[source]?.removeAll { $0 == number }
        if bySource[source]?.isEmpty == true { bySource[source] = nil }
    }
}
