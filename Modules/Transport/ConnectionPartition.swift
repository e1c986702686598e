package import SallyportCore

/// For whom connections are made: those of one partition serve no other.
package struct ConnectionPartition: Sendable, Hashable {
    /// The part of an app that makes connections.
    package enum Scope: Sendable, Hashable {
        /// A session of URL loading, by its tag.
        case session(String)
        case sockets, tunnels, diagnostics, doctor, plugin
        /// Requests to the gateway; 0 where they share connections.
        case control(UInt64)
    }

    package var scope: Scope
    /// Nil for the one that the scope itself stands for.
    package var principal: Principal?
    /// The load that has the connections to itself; nil where loads share them.
    package var load: UInt64?

    package init(_ scope: Scope = .plugin, principal: Principal? = nil, load: UInt64? = nil) {
        self.scope = scope
        self.principal = principal
        self.load = load
    }
}
