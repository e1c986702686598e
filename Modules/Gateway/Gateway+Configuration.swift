public import SallyportCore
internal import SallyportWire

extension Gateway {
    /// Where a gateway listens, and its limits.
    public struct Configuration: Sendable {
        /// What the gateway does. A relay's folder, which `sallyport gateway join` makes of an invitation, has the role
        /// ``Role/relay`` or ``Role/guarding``, and no other.
        public var role = Role.both
        /// How long tunnels go on without word, 30 seconds to an hour: with a relay's folder from its control gateways,
        /// with a gateway's from its fleet's database. Then they end, and are refused until there is word again. The
        /// tunnels of a gateway that stands alone go on: no other takes anything back.
        public var relayLease: Duration = .seconds(300)
        /// How long an administrator's command waits until what it takes away is in force at all relays.
        package var relayPatience: Duration = .seconds(1)
        /// Where apps activate and fetch their configuration: a host name, or an address of this machine.
        public var controlHost = "0.0.0.0"
        /// 0 takes a free port.
        public var controlPort = Int(ControlAPI.defaultPort)
        /// Where the relay accepts tunnels: an address of this machine, or `localhost`.
        public var relayHost = "0.0.0.0"
        /// 0 takes a free port.
        public var relayPort = Int(ControlAPI.defaultRelayPort)
        /// The local address for connections to servers; servers of the other address family are then out of reach. If
        /// nil, the system chooses.
        public var egress: IPAddress?
        /// The address of the DNS resolver for internal names; if nil, the system's resolver.
        public var resolver: Endpoint?
        /// The greatest number of tunnels of each instance.
        public var maximumTunnels = 1024
        /// The limits for all listeners together. Those of an instance and of descriptors are computed from
        /// ``maximumTunnels`` and the process's own limit when the gateway starts.
        public var connections = ConnectionLimits()
        /// Where tokens are verified without TLS, for development; if nil, nowhere.
        public var plainVerification: PlainVerification?
        /// Where metrics and health are told, for Prometheus and for what watches over the process; if nil, nowhere.
        public var metrics: MetricsListener?
        /// Guards a foreign relay on this machine; if nil, there is none.
        public var relayGuard: RelayGuardSettings?
        /// A file to which each entry of the audit trail is appended as a line of JSON, as it happens; `-` for standard
        /// output; if nil, none. A new file is for its owner only. With the roles ``Role/relay`` and ``Role/guarding``,
        /// this and ``auditSyslog`` do nothing: what these decide is written by their control gateways.
        public var auditLog: String?
        /// The Unix datagram socket of a syslog daemon, such as `/dev/log`, which gets each entry as a message
        /// (RFC 5424); if nil, none.
        public var auditSyslog: String?

        /// Listens on all addresses of this machine, at the default ports: 17433 for apps, 17533 for tunnels.
        public init() {}

        /// Listens on the loopback address only, at free ports: for tests and development.
        public static var loopback: Configuration {
            var configuration = Configuration()
            (configuration.controlHost, configuration.controlPort) = ("127.0.0.1", 0)
            (configuration.relayHost, configuration.relayPort) = ("127.0.0.1", 0)
            return configuration
        }
    }

    /// What a gateway does.
    public enum Role: String, Sendable, Hashable, CaseIterable {
        /// Activation, configuration, tokens, names and administration; tunnels are left to relays on other machines.
        case control
        /// Tunnels only, as control gateways say. It has no part of the fleet's data and none of its keys.
        case relay
        /// What ``control`` and ``relay`` do, in one process and from one folder: the default. It follows no other
        /// gateway's feed.
        case both
        /// Judges the tunnels of a foreign relay on this machine, by ``Configuration/relayGuard``, as control gateways say.
        /// Has a relay's folder, and no listener of its own but that of its metrics.
        case guarding

        /// Whether its folder is a relay's, which has no part of the fleet's data.
        package var followsFeed: Bool { self == .relay || self == .guarding }
    }

    /// A listener without TLS for the verification of auth tokens.
    public struct PlainVerification: Sendable {
        /// An address of this machine, or `localhost`.
        public var host: String
        /// 0 takes a free port.
        public var port: Int
        /// Whether it may listen on addresses that other machines can reach.
        public var isInsecureAllowed: Bool

        public init(host: String, port: Int, isInsecureAllowed: Bool = false) {
            (self.host, self.port, self.isInsecureAllowed) = (host, port, isInsecureAllowed)
        }
    }

    /// A listener without TLS for `/metrics`, `/health/live` and `/health/ready`.
    ///
    /// It asks for no credentials: put it on the loopback address, or on a network of
    /// administrators.
    public struct MetricsListener: Sendable {
        /// An address of this machine, or `localhost`.
        public var host: String
        /// 0 takes a free port.
        public var port: Int
        /// Whether it may listen on addresses that other machines can reach.
        public var isInsecureAllowed: Bool

        public init(host: String, port: Int, isInsecureAllowed: Bool = false) {
            (self.host, self.port, self.isInsecureAllowed) = (host, port, isInsecureAllowed)
        }
    }

    /// The ports that a gateway listens on.
    public struct Listeners: Sendable, Hashable {
        /// For apps; 0 with the roles ``Role/relay`` and ``Role/guarding``.
        public let controlPort: Int
        /// For tunnels; 0 with the roles ``Role/control`` and ``Role/guarding``.
        public let relayPort: Int
        /// The port of verification without TLS, if that was configured.
        public let verificationPort: Int?
        /// The port of metrics and health, if that was configured.
        public let metricsPort: Int?
    }
}
