import SallyportBase
import SallyportCore
import SallyportWire
import Testing

/// Valid values with every part in use.
enum Samples {
    static func configuration() throws -> ConfigurationDocument {
        let entitlement = try #require(EntitlementIdentifier("com.example.report"))
        let version = try #require(EntitlementVersion("1.2"))
        let server = try Endpoint("app.example:8443")
        return ConfigurationDocument(
            aud: InstanceIdentifier(), epoch: 1_700_000_000_000, iat: 1_700_000_000, leaseEnd: 1_700_086_400,
            status: .locked, code: .remoteLockout, entitlement: .init(id: entitlement, version: version),
            user: .init(id: "alice", principalName: "alice@EXAMPLE"),
            trust: .init(authorities: [[0x30, 0], [0x30, 1, 0]], endorsements: [[0x30, 2, 0, 0]], signers: 3),
            servers: [.init(server, priority: 2, route: .relay, isApplicationServer: true, secondary: "east")],
            domains: [.init("example", route: .direct), .init("test", route: .relay, secondary: "east")],
            deniedNetworks: try ["10.0.0.0/8", "fd00::/8"].map { try #require(IPNetwork($0)) },
            defaultRoute: .init(route: .deny), defaultDomains: ["corp.example", "example"],
            clusters: [.init(name: "main", relays: [.init(server, priority: 1)], authorities: [[0x30, 0]])],
            gateways: [.init(try Endpoint("gw1.example:17433"), priority: 1), .init(server, priority: 2)],
            tls: .init(blocked: [.tls10], floor: .tls12), schemes: ["basic"],
            realms: [.init("EXAMPLE.TEST", kdcs: [try Endpoint("kdc.example.test:88")])],
            policy: .object(["a": .null]), entitlements: [.init(id: entitlement, versions: [version])],
            application: .init(config: "text\n", detailedLogsOn: true, extraInfo: "{}"))
    }

    static func link() throws -> ActivationLink {
        try ActivationLink(
            gateway: Endpoint("gateway.example:17433"), authorityFingerprint: Array(0..<32), user: "alice@example",
            accessKey: Redacted("k&y=%/+"))
    }
}
