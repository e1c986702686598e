package import SallyportCore

/// The machine's links, addresses and routes at one moment, as far as they say where packets go.
package struct NetworkState: Sendable, Hashable {
    /// How many links, addresses and routes each are kept; a router has more of the last.
    package static let limit = 4096

    package struct Interface: Sendable, Hashable {
        package var name: String
        package var kind: InterfaceKind
        package var isRunning: Bool
    }

    package private(set) var interfaces: [UInt32: Interface] = [:]
    package private(set) var addresses: Set<NetlinkMessage.Address> = []
    package private(set) var routes: Set<NetlinkMessage.Route> = []
    /// There is more than is kept: where packets go cannot be said.
    package private(set) var isTruncated = false

    package init() {}

    /// Takes up one part of what the kernel told. Messages of other kinds say nothing.
    ///
    /// - Parameter describe: adds what is known of the interface besides.
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

// MARK: What it says

extension NetworkState {
    /// Where packets of a connection leave.
    package enum Way: Sendable, Hashable {
        /// By this interface.
        case by(UInt32)
        /// They do not.
        case none
        /// Nobody can say: there are more routes than are kept, or rules that are not looked at decide.
        case unknown
    }

    /// Whether some interface other than the host's own runs, and has an address that others can answer to.
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

    /// Where packets of a connection between these two go: the interface must run, and still have the address.
    package func way(from local: IPAddress, to remote: IPAddress) -> Way {
        guard !isTruncated else { return .unknown }
        guard let own = interface(having: local) else { return .none }
        // A host speaks to itself over its own loopback, whichever of its addresses it uses.
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

    /// The longest matching prefix in the tables that are asked without rules of the administrator's; of one length, the
    /// lowest priority. The local table goes before, then main, then default.
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

    /// The kernel takes routes over links that went down away without a word.
    private func isAlive(_ route: NetlinkMessage.Route) -> Bool {
        route.kind == .refuses || route.interfaces.isEmpty
            || route.interfaces.contains { interfaces[$0]?.isRunning == true }
    }
}

extension IPAddress {
    /// Whether the first `length` bits are those of `prefix`.
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
