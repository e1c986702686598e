public import SallyportCore
internal import SallyportWire

extension Gateway {
    /// Where a gateway listens, and its limits.
    public struct Configuration: Sendable {
        /// Where apps activate and fetch their configuration: a host name or an address of this machine.
        public var controlHost = "0.0.0.0"
        /// 0 takes a free port.
        public var controlPort = Int(ControlAPI.defaultPort)
        /// Where tunnels begin: an address of this machine, or `localhost`.
        public var relayHost = "0.0.0.0"
        /// 0 takes a free port.
        public var relayPort = Int(ControlAPI.defaultRelayPort)
        /// The address that tunnels to servers come from; servers of the other family are then out of reach. The system
        /// chooses where nil.
        public var egress: IPAddress?
        /// The resolver of names inside, at an address; the system's where nil.
        public var resolver: Endpoint?
        /// Of each instance.
        public var maximumTunnels = 1024
        /// Of all listeners together. ``ConnectionLimits/perInstance`` and ``ConnectionLimits/descriptors`` follow from
        /// ``maximumTunnels`` and the process's own limit when the gateway starts.
        public var connections = ConnectionLimits()
        /// Where tokens are verified without TLS, for development; nowhere where nil.
        public var plainVerification: PlainVerification?

        /// All addresses of this machine, and the documented ports: 17433 for apps, 17533 for tunnels.
        public init() {}

        /// On this machine only, at free ports: for tests, and for development.
        public static var loopback: Configuration {
            var configuration = Configuration()
            (configuration.controlHost, configuration.controlPort) = ("127.0.0.1", 0)
            (configuration.relayHost, configuration.relayPort) = ("127.0.0.1", 0)
            return configuration
        }
    }

    /// A listener for the documented verification of tokens, without TLS.
    public struct PlainVerification: Sendable {
        /// An address of this machine, or `localhost`.
        public var host: String
        /// 0 takes a free port.
        public var port: Int
        /// Whether it may listen where others than this machine reach it.
        public var isInsecureAllowed: Bool

        public init(host: String, port: Int, isInsecureAllowed: Bool = false) {
            (self.host, self.port, self.isInsecureAllowed) = (host, port, isInsecureAllowed)
        }
    }

    /// The ports that a gateway listens on.
    public struct Listeners: Sendable, Hashable {
        /// For apps.
        public let controlPort: Int
        /// For tunnels.
        public let relayPort: Int
        /// Of verification without TLS, where it was configured.
        public let verificationPort: Int?
    }
}
