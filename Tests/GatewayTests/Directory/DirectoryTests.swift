import Foundation
import SallyportCore
import Testing

@testable import SallyportGateway

@Suite struct DirectoryTests {
    static func sample() throws -> Directory {
        var directory = Directory()
        try directory.addUser("ann@example.com")
        try directory.addApplication("com.example.report", version: "1.0.0.0")
        try directory.configure("com.example.report", text: "mode: fast\n* not an alias\n")
        try directory.setPolicy("com.example.report", json: "{\"level\":3}")
        try directory.entitle("ann@example.com", to: "com.example.report", version: "1.0.0.0")
        try directory.setCluster("west", [.init(endpoint: "relay.example:443", priority: 2)])
        try directory.addServer(.init(endpoint: "intranet.corp.example:443", address: "127.0.0.3"))
        try directory.addServer(
            .init(endpoint: "api.corp.example:8443", application: "com.example.report", priority: 2, route: .direct))
        try directory.setRoute("corp.example", .init(route: .relay(cluster: "west"), ports: [443, 8443]))
        try directory.setRoute("10.0.0.0/8", .init(route: .deny))
        try directory.setRoute("fd00::9", .init(route: .deny))
        directory.blockedTLS = [.tls10]
        directory.tlsFloor = .tls12
        try directory.addRealm("CORP.EXAMPLE", kdc: "kdc.corp.example")
        try directory.addRealm("CORP.EXAMPLE", kdc: "KDC2.corp.example:750")
        try directory.forbidScheme("basic")
        try directory.allowScheme("NTLMv1")
        try directory.setPrincipalName("ann@CORP.EXAMPLE", of: "ann@example.com")
        try directory.setLogging(of: "com.example.report", isDetailed: true, isKeptFromUsers: nil)
        try directory.setExtraInfo("{\"a\":[1]}", of: "com.example.report")
        try directory.setLease("90m")
        try directory.setDefaultDomains(["lab.example", ".Corp.Example"])
        try directory.addServer(.init(endpoint: "b.corp.example:443", secondary: "west"))
        try directory.setRoute("lab.example", .init(route: .relay(cluster: "west"), secondary: "main"))
        try directory.setRoute("default", .init(route: .relay, ports: [443], secondary: "west"))
        return directory
    }

    @Test func applyAcceptsTheOutputOfShow() throws {
        let directory = try Self.sample()
        let yaml = try directory.declaration.yaml()
        #expect(try directory.applying(Declaration(yaml: yaml), prune: true) == directory)
        #expect(try directory.applying(Declaration(yaml: yaml), prune: false) == directory)
        // In another directory the users have other identifiers; everything else is the same.
        let copy = try Directory().applying(Declaration(yaml: yaml), prune: true)
        #expect(try copy.declaration.yaml() == yaml && directory.difference(to: copy).isEmpty)
        #expect(directory.difference(to: directory).isEmpty)
    }

    @Test func nothingIsRemovedWithoutPrune() throws {
        let directory = try Self.sample()
        let declaration = try Declaration(yaml: "users: [{name: bob}]\n")
        let added = try directory.applying(declaration, prune: false)
        #expect(added.users.keys.sorted() == ["ann@example.com", "bob"])
        #expect(added.servers == directory.servers)
        #expect(directory.difference(to: added) == ["+ user bob"])
        let pruned = try directory.applying(declaration, prune: true)
        #expect(pruned.users.keys.sorted() == ["bob"])
        #expect(pruned.servers.isEmpty)
        #expect(pruned.defaultRoute.route == .deny)
    }

    @Test(arguments: [
        "usres: []", "users: [{name: ann, role: admin}]", "servers: [{server: 'x:1', route: nowhere}]",
        "servers: [{server: nohost}]", "users: 7", "users: [{name: &a ann}]\napps: []", "[]", "users: [", "\u{0}",
        "routes: [{domain: corp.example, route: 'relay:nocluster'}]", "tls: {block: [SSL3]}",
        "realms: [{name: 'a b', kdcs: ['kdc.example']}]", "realms: [{name: R, kdcs: ['kdc.example:0']}]",
        "realms: [{name: R}]", "realms: [{name: R, kdcs: [], port: 1}]",
        "servers: [{server: 'x:1', route: direct, secondary: west}]", "servers: [{server: 'x:1', secondary: main}]",
        "servers: [{server: 'x:1', secondary: nocluster}]", "servers: [{server: 'x:1', secondary: 'relay:west'}]",
        "routes: [{domain: a.example, route: relay, secondary: main}]",
        "routes: [{domain: 10.0.0.0/8, route: deny, secondary: west}]",
        "defaultDomains: [a.example, A.example]", "defaultDomains: ['10.0.0.1']", "defaultDomains: a.example",
        "defaultDomains: [\(Array(0...16).map { "d\($0).example" }.joined(separator: ", "))]",
        "auth: {allow: [bearer]}", "auth: {forbid: [basic]}", "lease: 12", "lease: [12h]", "lease: {hours: 12}",
        "users: [{name: ann, userPrincipalName: ann}]", "users: [{name: ann, principal: ann@A}]",
        "apps: [{id: com.example.a, versions: ['1'], extraInfo: 'text'}]",
        "apps: [{id: com.example.a, versions: ['1'], detailedLogsOn: often}]",
        "apps: [{id: NotReversed!, versions: ['1']}]", "apps: [{id: com.example.a, versions: ['01.x']}]",
        "users: [{name: ann, entitlements: [{app: com.example.none, versions: ['1']}]}]",
    ])
    func malformedDeclarationsAreRefused(_ yaml: String) throws {
        let directory = try Self.sample()
        let error = #expect(throws: GatewayError.self) {
            try directory.applying(Declaration(yaml: yaml), prune: false)
        }
        #expect(error?.message.isEmpty == false)
    }

    @Test(arguments: [
        ("b.example", "Server b.example: HOST:PORT is expected, and the port is missing."),
        ("b.example:0", "Server b.example:0: A port is a number from 1 to 65535."),
        ("https://ann:PLANTED@b.example", "Server b.example: A port is a number from 1 to 65535."),
    ])
    func aServerThatIsNotValidIsNamedWithWhatIsExpectedAndWithoutAPassword(
        _ server: String, _ expected: String
    ) throws {
        let error = #expect(throws: GatewayError(.invalid, "")) {
            try Directory().applying(Declaration(yaml: "servers: [{server: '\(server)'}]"), prune: false)
        }
        #expect(error?.message == expected)
    }

    @Test func aDeclarationOverItsLimitIsRefused() throws {
        let padding = "#" + String(repeating: "x", count: Declaration.maximumLength - 1)
        #expect(throws: Never.self) { try Declaration(yaml: padding) }
        #expect(throws: GatewayError.self) { try Declaration(yaml: padding + "x") }
    }

    @Test func anAliasBombIsRefusedBeforeItGrows() throws {
        var yaml = "a: &a0 [x, x]\n"
        for level in 1..<30 { yaml += "b\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
        #expect(throws: GatewayError.self) { try Declaration(yaml: yaml) }
    }

    @Test func allSchemesButNTLMv1AreAllowedByDefault() throws {
        var directory = Directory()
        #expect(directory.schemes == ["basic", "digest", "negotiate", "ntlm"])
        try directory.forbidScheme("Basic")
        try directory.forbidScheme("basic")
        try directory.allowScheme("ntlmv1")
        #expect(directory.schemes == ["digest", "negotiate", "ntlm", "ntlmv1"])
        #expect(Directory().difference(to: directory) == ["- auth basic", "+ auth ntlmv1"])
        #expect(throws: GatewayError.self) { try directory.allowScheme("bearer") }
        let none = try directory.applying(Declaration(yaml: "auth: {allow: []}"), prune: false)
        #expect(none.schemes.isEmpty)
        #expect(try none.applying(Declaration(yaml: "users: []"), prune: false).schemes.isEmpty)
    }

    @Test func removingAVersionTakesItsEntitlementsAndServers() throws {
        var directory = try Self.sample()
        try directory.removeApplication("com.example.report", version: "1.0.0.0")
        #expect(directory.applications.isEmpty)
        #expect(directory.users["ann@example.com"]?.entitlements.isEmpty == true)
        #expect(directory.servers.map(\.endpoint) == ["b.corp.example:443", "intranet.corp.example:443"])
    }

    @Test func aNewUserWithAnOldNameIsAnotherUser() throws {
        let (name, app) = ("ann@example.com", "com.example.report")
        let before = try Self.sample()
        let first = try #require(before.users[name])
        var after = before
        try after.removeUser(name)
        try after.addUser(name)
        try after.entitle(name, to: app, version: "1.0.0.0")
        let second = try #require(after.users[name])
        #expect(before.user(named: name, first.id) == first && after.user(named: name, second.id) == second)
        #expect(after.user(named: name, first.id) == nil && before.user(named: name, second.id) == nil)
        #expect(after.versions(of: app, for: after.user(named: name, first.id)).isEmpty)
        #expect(before.grantsLost(in: after) == [Grant(user: first.id, entitlement: app)])
        #expect(before.grantsLost(in: before).isEmpty)
    }

    @Test func aGrantIsLostWithItsLastVersion() throws {
        var before = try Self.sample()
        let (name, app) = ("ann@example.com", "com.example.report")
        try before.addApplication(app, version: "2.0.0.0")
        try before.entitle(name, to: app, version: "2.0.0.0")
        var after = before
        try after.unentitle(name, from: app, version: "1.0.0.0")
        #expect(before.grantsLost(in: after).isEmpty)
        try after.unentitle(name, from: app, version: "2.0.0.0")
        let id = try #require(before.users[name]).id
        #expect(before.grantsLost(in: after) == [Grant(user: id, entitlement: app)])
    }

    @Test func aClusterInUseStays() throws {
        var directory = try Self.sample()
        #expect(throws: GatewayError.self) { try directory.removeCluster("west") }
        let uses: [(inout Directory) throws -> Void] = [
            { try $0.removeRoute("corp.example") }, { try $0.removeServer("b.corp.example:443") },
            { try $0.removeRoute("lab.example") }, { try $0.removeRoute("default") },
        ]
        for end in uses {
            let error = #expect(throws: GatewayError.self) { try directory.removeCluster("west") }
            #expect(error?.code == .invalid)
            try end(&directory)
        }
        try directory.removeCluster("west")
        #expect(directory.clusters.isEmpty)
        #expect(throws: GatewayError.self) { try directory.setCluster("main", [.init(endpoint: "a:1")]) }
    }

    @Test func aServerInAnotherSpellingIsTheSame() throws {
        var directory = Directory()
        try directory.addServer(.init(endpoint: "B\u{fc}cher.Example:443"))
        try directory.addServer(.init(endpoint: "xn--bcher-kva.example.:443", route: .deny))
        #expect(directory.servers.map(\.route) == [.deny])
        try directory.removeServer("b\u{fc}cher.example:443")
        #expect(directory.servers.isEmpty)
    }

    // MARK: Networks

    @Test func networksAreDeniedAndShown() throws {
        var directory = Directory()
        for name in ["10.0.0.0/8", "FD00:0::/8", "0x7f.1", "[2001:db8::1]", "192.0.2.7"] {
            try directory.setRoute(name, .init(route: .deny))
        }
        let expected = ["10.0.0.0/8", "127.0.0.1/32", "192.0.2.7/32", "2001:db8::1/128", "fd00::/8"]
        #expect(directory.deniedNetworks.sorted().map(\.description) == expected)
        #expect(directory.domains.isEmpty)
        #expect(Directory().difference(to: directory) == expected.map { "+ route \($0) deny" }.sorted())
        let again = try Directory().applying(Declaration(yaml: directory.declaration.yaml()), prune: true)
        #expect(again == directory)
        try directory.removeRoute("fd00::/8")
        try directory.removeRoute("2001:db8::1/128")
        try directory.removeRoute("127.1")
        #expect(directory.deniedNetworks.count == 2)
        #expect(throws: GatewayError(.notFound, "")) { try directory.removeRoute("172.16.0.0/12") }
        #expect(try directory.applying(Declaration(yaml: "users: []"), prune: true).deniedNetworks.isEmpty)
    }

    @Test(arguments: [
        ("10.0.0.1/8", "10.0.0.0/8"), ("fd00::1/8", "fd00::/8"), ("192.0.2.255/30", "192.0.2.252/30"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"), ("[::ffff:10.0.0.1]", "10.0.0.1/32"), ("::ffff:0:0/96", "0.0.0.0/0"),
    ])
    func aNetworkThatIsNotExactIsRefusedWithTheRightText(_ text: String, _ right: String) throws {
        var directory = Directory()
        let error = #expect(throws: GatewayError(.invalid, "")) {
            try directory.setRoute(text, .init(route: .deny))
        }
        #expect(error?.message.contains("write \(right)") == true, "\(String(describing: error))")
        #expect(directory == Directory())
    }

    @Test(arguments: [
        "10.0.0.0/33", "10.0.0.0/", "/8", "fe80::%eth0/64", "fe80::1%eth0", "[fd00::]/8", "0x0a.0.0.0/8", "010.0.0.0/8",
        "10/8", "10.0.0.0/8/8", "a.example/8", "10.0.0.0/-8", "256.0.0.0/8", "10.0.0.0/8 ",
    ])
    func invalidNetworksAreRefused(_ text: String) throws {
        var directory = Directory()
        #expect(throws: GatewayError(.invalid, "")) { try directory.setRoute(text, .init(route: .deny)) }
        #expect(throws: GatewayError(.invalid, "")) { try directory.removeRoute(text) }
        #expect(directory == Directory())
    }

    @Test func aNetworkIsDeniedOnAllPortsOrNotNamed() throws {
        var directory = try Self.sample()
        for rule in [
            Directory.Domain(route: .direct), .init(route: .relay), .init(route: .relay(cluster: "west")),
            .init(route: .deny, ports: [443]),
        ] {
            #expect(throws: GatewayError(.invalid, "")) { try directory.setRoute("10.0.0.0/8", rule) }
        }
        for number in 0..<UInt32(Directory.Limits.networks - 2) {
            directory.deniedNetworks.insert(IPNetwork(.v4(0x0b00_0000 + number)))
        }
        try directory.setRoute("10.0.0.0/8", .init(route: .deny))
        #expect(throws: GatewayError(.invalid, "")) { try directory.setRoute("12.0.0.0/8", .init(route: .deny)) }
    }

    // MARK: Realms

    @Test func realmsHaveKDCsInTheirOrder() throws {
        var directory = try Self.sample()
        #expect(directory.realms == ["CORP.EXAMPLE": ["kdc.corp.example:88", "kdc2.corp.example:750"]])
        #expect(throws: GatewayError(.exists, "")) {
            try directory.addRealm("CORP.EXAMPLE", kdc: "kdc.corp.example:88")
        }
        for number in 3...8 { try directory.addRealm("CORP.EXAMPLE", kdc: "kdc\(number).corp.example") }
        #expect(throws: GatewayError(.invalid, "")) { try directory.addRealm("CORP.EXAMPLE", kdc: "kdc9.corp.example") }
        try directory.removeRealm("CORP.EXAMPLE")
        #expect(directory.realms.isEmpty && directory.kdcs == nil)
        #expect(throws: GatewayError(.notFound, "")) { try directory.removeRealm("CORP.EXAMPLE") }
        for number in 1...256 { try directory.addRealm("R\(number)", kdc: "kdc.example") }
        #expect(throws: GatewayError(.invalid, "")) { try directory.addRealm("R257", kdc: "kdc.example") }
    }

    @Test(arguments: ["", "a b", "R@S", "R/S", "R\\", "R\n", "ü", String(repeating: "R", count: 256)])
    func invalidRealmsAreRefused(name: String) {
        var directory = Directory()
        #expect(throws: GatewayError(.invalid, "")) { try directory.addRealm(name, kdc: "kdc.example") }
    }

    @Test func theAdministratorIsWarnedOfAnUnreachableKDC() throws {
        var directory = try Self.sample()
        let kdc = try Directory.kdc("kdc.corp.example")
        // The domain's rule opens two ports, and not this one.
        #expect(directory.warning(ofKDC: kdc)?.contains("kdc.corp.example:88") == true)
        try directory.addServer(.init(endpoint: "kdc.corp.example:88"))
        #expect(directory.warning(ofKDC: kdc) == nil)
        try directory.setRoute("corp.example", .init(route: .deny))
        #expect(directory.warning(ofKDC: kdc) != nil)
    }

    /// What was written before there were realms.
    @Test func aDirectoryWithoutRealmsIsRead() throws {
        let bytes = try JSONEncoder().encode(Directory())
        #expect(!String(decoding: bytes, as: UTF8.self).contains("kdcs"))
        #expect(try JSONDecoder().decode(Directory.self, from: bytes) == Directory())
    }
}
