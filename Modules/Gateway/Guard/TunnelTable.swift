internal import SallyportCore
internal import SallyportSocketDiagnosis

/// A tunnel of a foreign relay that was allowed.
struct GuardedTunnel: Sendable {
    let client: any RelayClient
    let target: Endpoint
    let instance: String
    /// The client's connection to the relay.
    let connection: TCPConnection
}

/// The tunnels that a guard has allowed and that may be open, by the ends of the clients' connections.
struct TunnelTable: Sendable {
    /// The most tunnels of all instances.
    static let maximum = 65_536

    private(set) var tunnels: [SocketEnds: GuardedTunnel] = [:]
    private var counts: [String: Int] = [:]
    /// Those that are no longer allowed, and could not be ended.
    private var unended: Set<SocketEnds> = []
    private let limit: Int
    private let perInstance: Int

    init(limit: Int = Self.maximum, perInstance: Int) {
        self.limit = limit
        self.perInstance = perInstance
    }

    var hasUnended: Bool { !unended.isEmpty }

    /// Notes whether a tunnel stays open that is no longer allowed. One that was removed is passed over.
    mutating func note(_ tunnel: GuardedTunnel, isUnended: Bool) {
        let ends = tunnel.connection.ends
        guard tunnels[ends]?.connection == tunnel.connection else { return }
        if isUnended { unended.insert(ends) } else { unended.remove(ends) }
    }

    /// Enters a tunnel; returns why it may not be opened if there are too many. On a connection that has one, it is in
    /// that one's place: the relay has ended that one, or could not open it.
    mutating func add(_ tunnel: GuardedTunnel) -> String? {
        let ends = tunnel.connection.ends
        remove(ends)
        guard tunnels.count < limit else { return "There are \(limit) tunnels, the most." }
        guard counts[tunnel.instance, default: 0] < perInstance else {
            return "The instance has \(perInstance) tunnels, the most."
        }
        tunnels[ends] = tunnel
        counts[tunnel.instance, default: 0] += 1
        return nil
    }

    private mutating func remove(_ ends: SocketEnds) {
        guard let tunnel = tunnels.removeValue(forKey: ends) else { return }
        unended.remove(ends)
        let count = counts[tunnel.instance, default: 1] - 1
        counts[tunnel.instance] = count > 0 ? count : nil
    }

    /// Removes a tunnel; false if it was removed before, and another one may have its place by now.
    mutating func remove(_ tunnel: GuardedTunnel) -> Bool {
        guard tunnels[tunnel.connection.ends]?.connection == tunnel.connection else { return false }
        remove(tunnel.connection.ends)
        return true
    }
}
