internal import SallyportBase

/// How the connection to a server is made.
public enum Route: Sendable, Hashable, CustomStringConvertible, LosslessStringConvertible {
    /// Through a relay of the named cluster.
    case relay(cluster: String)
    /// Straight from this machine.
    case direct
    /// Not at all.
    case deny

    /// The cluster that `gateway run` registers for its own relay; `relay` without a name means this one.
    public static let mainCluster = "main"
    /// Through the gateway's own relay.
    public static let relay = Route.relay(cluster: mainCluster)

    /// Reads `relay`, `relay:CLUSTER`, `direct` or `deny`.
    public init?(_ text: String) {
        switch text {
        case "relay": self = .relay
        case "direct": self = .direct
        case "deny": self = .deny
        default:
            guard text.hasPrefix("relay:"), Self.isClusterName(text.dropFirst(6)) else { return nil }
            self = .relay(cluster: String(text.dropFirst(6)))
        }
    }

    /// 1 to 64 letters, digits, hyphens, underscores and dots.
    public static func isClusterName(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
                default: false
                }
            }
    }

    /// Whether the route is a relay, of any cluster.
    package var isRelay: Bool { if case .relay = self { true } else { false } }

    public var description: String {
        switch self {
        case .relay(Self.mainCluster): "relay"
        case .relay(let cluster): "relay:\(cluster)"
        case .direct: "direct"
        case .deny: "deny"
        }
    }
}

extension Route: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let route = Route(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "A route is relay, relay:CLUSTER, direct or deny.")
        }
        self = route
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
