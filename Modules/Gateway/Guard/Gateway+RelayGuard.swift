extension Gateway {
    /// A guard for a foreign relay on this machine, such as Squid: it is asked over a Unix socket at each CONNECT, and
    /// ends the tunnels that the policy no longer allows.
    public struct RelayGuardSettings: Sendable {
        /// Where the guard listens: a path of at most 107 bytes, in a directory that the relay's user can enter.
        public var path: String
        /// The users, by number, who may ask besides this process's and root.
        public var users: Set<UInt32>
        /// The port at which the relay takes its clients, and at which connections are ended; that needs the capability
        /// CAP_NET_ADMIN. If nil, new tunnels are judged, and open ones are not ended.
        public var port: UInt16?

        public init(path: String, users: Set<UInt32> = [], port: UInt16?) {
            (self.path, self.users, self.port) = (path, users, port)
        }
    }
}

extension ListenerSettings {
    /// Nil if no foreign relay is guarded.
    func makeGuard(_ policy: any RelayPolicy, _ audit: AuditRecorder) throws(GatewayError) -> GuardService? {
        guard let settings = configuration.relayGuard else { return nil }
        guard settings.port != 0 else { throw GatewayError(.invalid, "A guard's port is 1 to 65535.") }
        return try GuardService(
            settings, policy: policy, maximumTunnels: configuration.maximumTunnels, audit: audit, logger: logger)
    }
}
