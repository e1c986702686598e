import SallyportBase
import SallyportCore
import Testing

@testable import SallyportTransport

/// What tells the connections of one path from those of another: each of its properties by itself.
@Suite struct ConnectionPathTests {
    private static let identity = ClientIdentity(certificates: [[1]], privateKey: Redacted("key"))

    private static func relay(
        _ cluster: String = "main", host: String = "relay.example:443", authority: UInt8 = 1,
        identity: ClientIdentity = identity
    ) throws -> RelayAccess {
        RelayAccess(
            cluster: cluster, relays: [RelayAccess.Relay(try Endpoint(host), priority: 1)],
            authorities: [[authority]], identity: identity)
    }

    private static func changes() throws -> [(inout ConnectionPath) -> Void] {
        let (host, key) = (try Host("a.example"), try #require(PublicKeyPin(sha256: [UInt8](repeating: 7, count: 32))))
        let chain = try #require(ChainFingerprint(sha256: [UInt8](repeating: 7, count: 32)))
        let (relay, proxy) = (try relay(), Proxy(.http, at: try Endpoint("proxy.example:3128")))
        return [
            { $0.relay = relay }, { $0.versions = TLSVersions([.tls13]) }, { $0.trust = .only([[1]]) },
            { $0.pins = [host: [key]] },
            { $0.decision = .decided(chain, isTrusted: true) }, { $0.revocation.lists = [[1]] },
            { $0.identity = identity }, { $0.asksForIdentity = true }, { $0.isFallback = true },
            { $0.partition = .of("other") }, { $0.socket = "/run/socket" }, { $0.proxy = ProxyAccess(proxy) },
            { $0.owner = 1 }, { $0.checksHost = false },
            { $0.addresses = RoutingTable(denying: IPNetwork("10.0.0.0/8").map { [$0] } ?? []).addresses },
        ]
    }

    @Test func eachPropertyTellsPathsApart() throws {
        let changes = try Self.changes()
        #expect(changes.count == Mirror(reflecting: ConnectionPath()).children.count, "One for each property.")
        for (index, change) in changes.enumerated() {
            var (one, same) = (ConnectionPath(), ConnectionPath())
            change(&one)
            #expect(one != ConnectionPath(), "\(index)")
            change(&same)
            #expect(one == same && one.hashValue == same.hashValue, "\(index)")
        }
    }

    @Test func eachPropertyOfARelayTellsPathsApart() throws {
        let other = ClientIdentity(certificates: [[2]], privateKey: Redacted("key"))
        let all = [
            try Self.relay(), try Self.relay("other"), try Self.relay(host: "other.example:443"),
            try Self.relay(authority: 2), try Self.relay(identity: other),
        ]
        for (index, one) in all.enumerated() {
            for (place, relay) in all.enumerated() {
                #expect((ConnectionPath(relay: one) == ConnectionPath(relay: relay)) == (index == place))
            }
        }
        let again = try Self.relay()
        #expect(ConnectionPath(relay: all[0]) == ConnectionPath(relay: again))
        #expect(ConnectionPath(relay: all[0]).hashValue == ConnectionPath(relay: again).hashValue)
    }
}
