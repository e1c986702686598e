package import SallyportCore

/// The machine's links, addresses and routes at one moment, as far as they determine where packets go.
package struct NetworkState: Sendable, Hashable {
    /// The most links, addresses and routes that are kept; a router has more routes.
    package static let limit = 4096

    package struct Interface: Sendable, Hashable {
        package var name: String
        package var kind: InterfaceKind
        package var isRunning: Bool
    }

    package private(set) var interfaces: [UInt32: Interface] = [:]
    package private(set) var addresses: Set<NetlinkMessage.Address> = []
    package private(set) var routes: Set<NetlinkMessage.Route> = []
    /// There is more than is kept, so that the route of packets is unknown.
    package private(set) var isTruncated = false

    package init() {}

    /// Adds one part of the kernel's report. Messages of other kinds are ignored.
    ///
    /// - Parameter describe: adds further facts about the interface.
    mutating func add(_ content: NetlinkMessage.Content, _ describe: (NetlinkMessage.Link) -> InterfaceFacts) {
        switch content {
        case .link(let link):
            guard admits(interfaces.count) else { return }
            interfaces[link.index] = Interface(
                name: link.name, kind: describe(link).kind, isRunning: link.isRunning)
        case .address(let address): if admits(addresses.count) { addresses.insert(address) }
        case .route(let route): if admits(routes.count) { routes.insert(route) }
        default: return
        }
    }

    private mutating func admits(_ count: Int) -> Bool {
        if count >= Self.limit { isTruncated = true }
        return count < Self.limit
    }
}

// MARK: Queries

extension NetworkState {
    /// The way of a connection's packets.
    package enum Way: Sendable, Hashable {
        /// Through this interface.
        case by(UInt32)
        /// There is no route.
        case none
        /// Unknown: there are more routes than are kept, or rules apply that are not evaluated.
        case unknown
    }

    /// Whether an interface other than the loopback runs, and has an address that other hosts can reach.
    package var isAvailable: Bool {
        addresses.contains { address in
            guard address.isUsable, let interface = interfaces[address.interface] else { return false }
            let isOfOthers = ![.linkLocal, .loopback].contains(address.address.scope)
            return interface.isRunning && interface.kind != .loopback && isOfOthers
        }
    }

    /// The interface that has the address.
    package func interface(having address: IPAddress) -> UInt32? {
        addresses.first { $0.address == address && $0.isUsable }?.interface
    }

    /// The way of packets between these addresses: the interface must be running, and still have the local address.
    package func way(from local: IPAddress, to remote: IPAddress) -> Way {
        guard !isTruncated else { return .unknown }
        guard let own = interface(having: local) else { return .none }
        // A host uses its loopback to reach itself, for any of its addresses.
        if interface(having: remote) != nil { return interfaces[own]?.isRunning == true ? .by(own) : .none }
        switch route(to: remote) {
        case nil: return .none
        case let route? where route.kind != .leads: return .none
        case let route?:
            let running = route.interfaces.filter { interfaces[$0]?.isRunning == true }
            if let first = running.first { return .by(running.contains(own) ? own : first) }
            return route.interfaces.isEmpty ? .unknown : .none
        }
    }

    /// The longest matching prefix in the tables that apply without custom rules; among equal lengths, the lowest
    /// priority. The local table comes first, then main, then default.
    private func route(to remote: IPAddress) -> NetlinkMessage.Route? {
        for table: UInt32 in [255, 254, 253] {
            let matching = routes.filter { route in
                route.table == table && !route.isDead && route.kind != .passes && isAlive(route)
                    && remote.isIn(route.destination, route.length)
            }
            let best = matching.min { ($1.length, $0.priority) < ($0.length, $1.priority) }
            if let best { return best }
        }
        return nil
    }

    /// The kernel removes the routes of a link that went down without a notification.
    private func isAlive(_ route: NetlinkMessage.Route) -> Bool {
        route.kind == .refuses || route.interfaces.isEmpty
            || route.interfaces.contains { interfaces[$0]?.isRunning == true }
    }
}

extension IPAddress {
    /// Whether the first `length` bits are equal to those of `prefix`.
    func isIn(_ prefix: IPAddress, _ length: Int) -> Bool {
        switch (self, prefix) {
        case (.v4(let one), .v4(let other)):
            return length == 0 || (one ^ other) >> UInt32(32 - min(length, 32)) == 0
        case (.v6(let high, let low), .v6(let otherHigh, let otherLow)):
            guard length > 0 else { return true }
            guard length > 64 else { return (high ^ otherHigh) >> UInt64(64 - length) == 0 }
            return high == otherHigh && (low ^ otherLow) >> UInt64(128 - min(length, 128)) == 0
        default: return false
        }
    }
}
