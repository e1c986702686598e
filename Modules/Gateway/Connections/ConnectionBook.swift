/// Decides which connections a gateway keeps: a value without I/O.
///
/// Every connection arrives unauthenticated. Those that stay so are counted for each source and in total; when a limit
/// is reached, the oldest is closed to make room for a new one. Authenticated ones are never closed for that, and are
/// counted for each instance; one that has lost its standing counts as unauthenticated again.
struct ConnectionBook: Sendable {
    /// Increases with each connection, so that the smaller of two numbers is the older connection's.
    typealias Number = UInt64

    enum Admission: Hashable {
        /// - Parameter givesWay: the connection to be closed to make room for this one.
        case admitted(Number, givesWay: Number?)
        /// No descriptor is left, and no unauthenticated connection can be closed to free one.
        case refused
    }

    private struct Known {
        let instance: String
        let source: ConnectionSource
        /// Whether a connection to a server was opened for it.
        var hasServer = false
    }

    private let limits: ConnectionLimits
    private var next: Number = 0
    /// A lower bound: no connection that has never authenticated has a smaller number.
    private var oldest: Number = 0
    private var waiting: [Number: ConnectionSource] = [:]
    /// The connections of each source, the oldest first.
    private var bySource: [ConnectionSource: [Number]] = [:]
    private var known: [Number: Known] = [:]
    private var byInstance: [String: Set<Number>] = [:]
    /// The unauthenticated connections that were authenticated before: ``oldest`` does not regard them.
    private var fallen: Set<Number> = []
    /// The number of descriptors in use: of connections until they are closed, and of connections to servers.
    private(set) var open = 0

    init(_ limits: ConnectionLimits) { self.limits = limits }

    var unauthenticatedCount: Int { waiting.count }
    var authenticatedCount: Int { known.count }
    /// The names by which peers have authenticated.
    var peers: [String] { Array(byInstance.keys) }

    /// The authenticated connections of an instance.
    func connections(of instance: String) -> Set<Number> { byInstance[instance] ?? [] }

    /// Admits a new connection.
    mutating func admit(_ source: ConnectionSource) -> Admission {
        let victim = giveWay(to: source)
        guard victim != nil || open < limits.descriptors.all else { return .refused }
        if let victim { stopWaiting(victim) }
        let number = next
        next += 1
        open += 1
        wait(number, from: source)
        return .admitted(number, givesWay: victim)
    }

    /// The peer of a connection has authenticated as an instance in good standing. Returns false if that instance has
    /// the greatest number of connections already.
    mutating func authenticated(_ number: Number, as instance: String) -> Bool {
        // A connection that must be closed to make room is closed, even if its peer authenticates at the last moment.
        guard let source = waiting[number] else { return false }
        guard connections(of: instance).count < limits.perInstance else { return false }
        stopWaiting(number)
        known[number] = Known(instance: instance, source: source)
        byInstance[instance, default: []].insert(number)
        return true
    }

    /// The peer of a connection is in good standing no more, so that the connection counts as unauthenticated, and gives
    /// way before others. One for which a connection to a server was opened is left to the relay, which ends it.
    ///
    /// - Returns: false if there is no place for it among the unauthenticated ones: the caller closes it.
    mutating func lostStanding(_ number: Number) -> Bool {
        guard let peer = known[number], !peer.hasServer else { return true }
        forget(number)
        guard waiting.count < limits.unauthenticated, bySource[peer.source]?.count ?? 0 < limits.perSource else {
            return false
        }
        wait(number, from: peer.source)
        fallen.insert(number)
        return true
    }

    /// A connection to a server is about to be opened. Returns false if no descriptor is left for it.
    mutating func dials(_ number: Number) -> Bool {
        guard open < limits.descriptors.all else { return false }
        // An unauthenticated connection is refused before a connection to a server is opened.
        guard known[number]?.hasServer == false else { return false }
        known[number]?.hasServer = true
        open += 1
        return true
    }

    /// Records that a connection was closed.
    mutating func left(_ number: Number) {
        open -= 1
        guard let peer = known[number] else { return stopWaiting(number) }
        if peer.hasServer { open -= 1 }
        forget(number)
    }

    private mutating func forget(_ number: Number) {
        guard let peer = known.removeValue(forKey: number) else { return }
        byInstance[peer.instance]?.remove(number)
        if byInstance[peer.instance]?.isEmpty == true { byInstance[peer.instance] = nil }
    }

    private mutating func giveWay(to source: ConnectionSource) -> Number? {
        if let own = bySource[source], own.count >= limits.perSource { return own.first }
        let isFull =
            waiting.count >= limits.unauthenticated || open >= limits.descriptors.all
            || open >= limits.descriptors.open && waiting.count >= limits.descriptors.arriving
        guard isFull, !waiting.isEmpty else { return nil }
        if let victim = fallen.min() { return victim }
        // This loop passes each number only once in the life of the gateway.
        while waiting[oldest] == nil { oldest += 1 }
        return oldest
    }

    private mutating func wait(_ number: Number, from source: ConnectionSource) {
        waiting[number] = source
        // A new number is the greatest.
        let place = bySource[source]?.last ?? 0 > number ? bySource[source]?.firstIndex { $0 > number } : nil
        guard let place else { return bySource[source, default: []].append(number) }
        bySource[source]?.insert(number, at: place)
    }

    private mutating func stopWaiting(_ number: Number) {
        guard let source = waiting.removeValue(forKey: number) else { return }
        fallen.remove(number)
        bySource[source]?.removeAll { $0 == number }
        if bySource[source]?.isEmpty == true { bySource[source] = nil }
    }
}
