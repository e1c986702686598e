import SallyportCore
import Testing

/// Rules for addresses: for a host that is an address, and for the addresses to which names lead.
@Suite struct AddressRulesTests {
    private func table(
        _ networks: [String] = [], servers: [(String, Route)] = [], default fallback: Route = .direct
    ) throws -> RoutingTable {
        RoutingTable(
            servers: try servers.map { .init(try Endpoint($0.0), route: $0.1) },
            denying: try networks.map { try #require(IPNetwork($0)) }, default: fallback)
    }

    private func denial(_ address: String, _ table: RoutingTable, port: UInt16 = 443) throws -> String? {
        let decision = table.decide(try Endpoint("a.example:\(port)"))
        return decision.addresses.denial(
            of: try #require(IPAddress(address)), port: port, for: decision.endpoint
        ).map { "\($0)" }
    }

    @Test(arguments: [
        "10.1.2.3:443", "0x0a.1:80", "167772161:80", "[::ffff:10.0.0.1]:443", "[64:ff9b::a00:1]:443",
        "[2002:a00:1::]:443", "10.0.0.1.:443", "%31%30.0.0.1:443",
    ])
    func anAddressInADeniedNetworkIsDenied(_ text: String) throws {
        for servers in [[], [(text, Route.direct)], [(text, Route.relay)]] {
            let decision = try table(["10.0.0.0/8"], servers: servers).decide(Endpoint(text))
            #expect(decision.route == .deny && "\(decision.rule)" == "network 10.0.0.0/8")
        }
        #expect(try table(["11.0.0.0/8", "::/3"]).decide(Endpoint("10.1.2.3:443")).route == .direct)
    }

    @Test func aNameIsJudgedByTheAddressesThatItLeadsTo() throws {
        let table = try table(["10.0.0.0/8", "fd00::/8", "127.0.0.0/8"])
        #expect(table.decide(try Endpoint("a.example:443")).route == .direct)
        for address in ["10.9.9.9", "::ffff:10.9.9.9", "64:ff9b::10.9.9.9", "2002:a09:909::1", "::10.9.9.9"] {
            #expect(try denial(address, table) == "network 10.0.0.0/8", "\(address)")
        }
        #expect(try denial("fd12::1", table) == "network fd00::/8")
        #expect(try denial("0.0.0.0", table) == "network 127.0.0.0/8")
        for address in ["11.0.0.0", "9.255.255.255", "fc00::1", "2001:db8::1"] {
            #expect(try denial(address, table) == nil, "\(address)")
        }
    }

    /// A listed server is an address and a port: another port of the address is another server.
    @Test func aDeniedServerThatIsAnAddressIsNotPassedByAName() throws {
        let table = try table(servers: [("10.9.9.9:443", .deny), ("b.example:443", .deny)])
        #expect(try denial("10.9.9.9", table) == "server 10.9.9.9:443")
        #expect(try denial("::ffff:10.9.9.9", table) == "server 10.9.9.9:443")
        #expect(try denial("10.9.9.9", table, port: 8443) == nil)
        #expect(try denial("10.9.9.8", table) == nil)
        #expect(table.decide(try Endpoint("[::ffff:10.9.9.9]:443")).route == .deny)
    }

    @Test(arguments: [
        "169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "169.254.170.2", "169.254.42.42",
        "fd00:ec2::254", "fd20:ce::254", "fd00:42::42", "::ffff:100.100.100.200", "64:ff9b::a83f:8110",
    ])
    func metadataServicesAreDeniedUnlessListedAsLiterals(_ address: String) throws {
        let host = address.contains(":") ? "[\(address)]" : address
        let plain = try table()
        #expect(try plain.decide(Endpoint("\(host):80")).rule == .metadata)
        #expect(try plain.decide(Endpoint("\(host):80")).route == .deny)
        #expect(try denial(address, plain, port: 80) == "cloud metadata")
        let listed = try table(servers: [("\(host):80", .direct)])
        #expect(try listed.decide(Endpoint("\(host):80")).route == .direct)
        #expect(try listed.decide(Endpoint("\(host):81")).route == .deny)
        #expect(try denial(address, listed, port: 80) == "cloud metadata", "no name leads there for that")
        #expect(try table(servers: [("\(host):80", .deny)]).decide(Endpoint("\(host):80")).route == .deny)
        #expect(
            try table(["::/0", "0.0.0.0/0"], servers: [("\(host):80", .direct)]).decide(Endpoint("\(host):80")).route
                == .deny)
    }

    @Test func otherAddressesAreNoMetadataServices() throws {
        for address in ["169.254.1.1", "100.100.100.201", "8.8.8.8", "127.0.0.1", "::1", "fd00::1"] {
            #expect(try denial(address, table(), port: 80) == nil, "\(address)")
        }
    }

    @Test func rulesAreEqualWhereTheySayTheSame() throws {
        let servers = [("10.9.9.9:443", Route.deny)]
        let one = try table(["10.0.0.0/8", "fd00::/8"], servers: servers).addresses
        let same = try table(["fd00::/8", "10.0.0.0/8"], servers: servers).addresses
        #expect(one == same && one.hasOwn)
        for other in [try table(["10.0.0.0/8"], servers: servers), try table(["10.0.0.0/8", "fd00::/8"])] {
            #expect(one != other.addresses)
        }
        #expect(try table().addresses == .standard)
        #expect(!AddressRules.standard.hasOwn)
    }

    /// Compares with a check of each network alone, for networks that lie inside one another and side by side.
    @Test func randomNetworksFollowTheRule() throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<500 {
            let networks = (0..<Int.random(in: 0...12, using: &generator)).compactMap { _ in
                IPNetwork(
                    of: .v4(.random(in: 0x0a00_0000...0x0a00_00ff, using: &generator)),
                    bits: .random(in: 20...32, using: &generator))
            }
            let rules = RoutingTable(denying: networks).addresses
            for _ in 0..<40 {
                let address = IPAddress.v4(.random(in: 0x0a00_0000...0x0a00_01ff, using: &generator))
                let expected = networks.contains { $0.contains(address) }
                #expect((rules.denial(of: address, port: 1) != nil) == expected, "\(networks) \(address)")
            }
        }
    }
}
