package import SallyportCore

/// The owner of a connection: connections of one partition are never used for another.
package struct ConnectionPartition: Sendable, Hashable {
    /// The part of an app that makes connections.
    package enum Scope: Sendable, Hashable {
        /// A session of URL loading, by its tag.
        case session(String)
        case sockets, door, tunnels, diagnostics, doctor, plugin
        /// Requests to the gateway. Equal numbers share connections; requests with 0 all share theirs.
        case control(UInt64)
        /// A question to a relay whether it is there, by its number.
        case relayQuestion(UInt64)

        /// Whether an address is reached only while a rule names it; see ``UnnamedAddress``.
        package var needsRule: Bool { self == .door }
    }

    package var scope: Scope
    /// The principal; nil for the scope's own.
    package var principal: Principal?
    /// The load that does not share its connections; nil if loads share them.
    package var load: UInt64?

    package init(_ scope: Scope = .plugin, principal: Principal? = nil, load: UInt64? = nil) {
        self.scope = scope
        self.principal = principal
        self.load = load
    }
}
