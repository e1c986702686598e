import SallyportCore
import Testing

@testable import SallyportReachability

/// Where packets go by links, addresses and routes.
@Suite struct NetworkStateTests {
    private let home = IPAddress.v4(0x0a00_0001)
    private let far = IPAddress.v4(0xc633_6407)

    @Test func theLongestPrefixOfTheFirstTableCounts() throws {
        let network = TestNetwork()
        network.link(2, "eth0").address(2, "10.0.0.1").route("0.0.0.0", 0, by: 2)
        network.link(3, "wg0", hardware: 0xfffe, kind: "wireguard").address(3, "10.9.0.1")
        network.route("198.51.100.0", 24, by: 3)
        #expect(network.state.way(from: try #require(IPAddress("10.9.0.1")), to: far) == .by(3))
        #expect(network.state.way(from: home, to: try #require(IPAddress("203.0.113.1"))) == .by(2))
        network.route("198.51.100.7", 32, by: nil, kind: .refuses)
        #expect(network.state.way(from: home, to: far) == .none)
    }

    @Test func ofOneLengthTheLowestPriorityCounts() {
        let network = TestNetwork()
        network.link(2, "eth0").link(3, "eth1").address(2, "10.0.0.1")
        network.route("0.0.0.0", 0, by: 3, priority: 200).route("0.0.0.0", 0, by: 2, priority: 100)
        #expect(network.state.way(from: home, to: far) == .by(2))
    }

    @Test func aLinkThatDoesNotRunLeadsNowhere() {
        let network = TestNetwork()
        network.link(2, "eth0").address(2, "10.0.0.1").route("0.0.0.0", 0, by: 2)
        #expect(network.state.isAvailable)
        network.link(2, "eth0", isRunning: false)
        #expect(network.state.way(from: home, to: far) == .none && !network.state.isAvailable)
    }

    @Test func withoutItsAddressOrARouteNothingLeaves() {
        let network = TestNetwork()
        network.link(2, "eth0").address(2, "10.0.0.1")
        #expect(network.state.way(from: home, to: far) == .none)
        network.route("0.0.0.0", 0, by: 2)
        #expect(network.state.way(from: home, to: far) == .by(2))
        #expect(network.state.way(from: far, to: home) == .none)
    }

    @Test func aHostReachesItself() throws {
        let network = TestNetwork()
        network.link(1, "lo", hardware: 772).address(1, "127.0.0.1").address(1, "::1")
        let loopback = try #require(IPAddress("127.0.0.1"))
        #expect(network.state.way(from: loopback, to: loopback) == .by(1))
        #expect(!network.state.isAvailable)
    }

    @Test func linkLocalAddressesMakeNoNetwork() {
        let network = TestNetwork()
        network.link(2, "eth0").address(2, "fe80::1").address(2, "169.254.1.1")
        #expect(!network.state.isAvailable)
        network.address(2, "2001:db8::1")
        #expect(network.state.isAvailable)
    }

    @Test(arguments: [
        ("10.1.2.3", "10.0.0.0", 8, true), ("11.1.2.3", "10.0.0.0", 8, false), ("1.2.3.4", "0.0.0.0", 0, true),
        ("1.2.3.4", "1.2.3.4", 32, true), ("1.2.3.5", "1.2.3.4", 32, false), ("2001:db8::1", "2001:db8::", 32, true),
        ("2001:db9::1", "2001:db8::", 32, false), ("2001:db8::1", "2001:db8::", 127, true),
        ("2001:db8::2", "2001:db8::", 127, false), ("2001:db8::2", "2001:db8::2", 128, true), ("::1", "::", 0, true),
        ("1.2.3.4", "::", 0, false), ("fe80::1", "fe80::", 64, true), ("fe80:0:0:1::", "fe80::", 64, false),
    ])
    func anAddressIsInAPrefixByItsFirstBits(_ address: String, _ prefix: String, _ length: Int, _ isIn: Bool) throws {
        let (address, prefix) = (try #require(IPAddress(address)), try #require(IPAddress(prefix)))
        #expect(address.isIn(prefix, length) == isIn)
    }

    @Test func moreRoutesThanAreKeptSayNothing() {
        let network = TestNetwork()
        network.link(2, "eth0").address(2, "10.0.0.1")
        for number in 0..<NetworkState.limit {
            network.route(IPAddress.v4(0x0b00_0000 + UInt32(number)).description, 32, by: 2)
        }
        #expect(network.state.way(from: home, to: far) == .none)
        network.route("0.0.0.0", 0, by: 2)
        #expect(network.state.isTruncated && network.state.routes.count == NetworkState.limit)
        #expect(network.state.way(from: home, to: far) == .unknown)
    }

    @Test func rulesOfTheAdministratorsAreNotJudged() {
        let network = TestNetwork()
        network.link(2, "eth0").address(2, "10.0.0.1").route("0.0.0.0", 0, by: nil)
        #expect(network.state.way(from: home, to: far) == .unknown)
    }

    @Test(arguments: [
        (772 as UInt16, nil, InterfaceKind.loopback), (1, nil, .wired), (32, nil, .wired), (1, "bond", .wired),
        (1, "vlan", .wired), (1, "veth", .virtual), (1, "bridge", .virtual), (1, "dummy", .virtual),
        (0xfffe, "wireguard", .tunnel), (0xfffe, "tun", .tunnel), (1, "vxlan", .tunnel), (1, "gretap", .tunnel),
        (512, nil, .tunnel), (776, "sit", .tunnel), (519, nil, .cellular), (801, nil, .wireless), (280, nil, .virtual),
    ])
    func anInterfaceIsOfAKind(_ hardware: UInt16, _ made: String?, _ kind: InterfaceKind) {
        #expect(InterfaceFacts(hardware: hardware, made: made).kind == kind)
    }

    @Test func sysfsTellsAWirelessAndAMobileOneFromAWire() {
        #expect(InterfaceFacts(hardware: 1, made: nil, isWirelessLAN: true).kind == .wireless)
        #expect(InterfaceFacts(hardware: 1, made: nil, isMobile: true).kind == .cellular)
        var facts = InterfaceFacts(hardware: 1, made: nil)
        Sysfs.describe("lo", 1, &facts)
        Sysfs.describe("../../../etc", 1, &facts)
        Sysfs.describe("..", 1, &facts)
        #expect(facts.kind == .wired)
    }
}

/// A network that a test builds.
final class TestNetwork {
    private(set) var state = NetworkState()

    @discardableResult
    func link(
        _ index: UInt32, _ name: String, hardware: UInt16 = 1, kind: String? = nil, isRunning: Bool = true
    ) -> TestNetwork {
        add(.link(.init(index: index, name: name, hardware: hardware, kind: kind, isRunning: isRunning)))
    }

    @discardableResult
    func address(_ index: UInt32, _ text: String) -> TestNetwork {
        guard let address = IPAddress(text) else { preconditionFailure("\(text) is an address.") }
        return add(.address(.init(interface: index, address: address, isUsable: true)))
    }

    @discardableResult
    func route(
        _ text: String, _ length: Int, by interface: UInt32?, priority: UInt32 = 0,
        kind: NetlinkMessage.Route.Kind = .leads
    ) -> TestNetwork {
        guard let prefix = IPAddress(text) else { preconditionFailure("\(text) is an address.") }
        return add(
            .route(
                .init(
                    kind: kind, destination: prefix, length: length, priority: priority, table: 254,
                    interfaces: interface.map { [$0] } ?? [], isDead: false)))
    }

    private func add(_ content: NetlinkMessage.Content) -> TestNetwork {
        state.add(content) { InterfaceFacts(hardware: $0.hardware, made: $0.kind) }
        return self
    }
}
