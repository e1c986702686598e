import SallyportCore
import Testing

@testable import SallyportReachability

/// What the kernel's bytes become.
@Suite struct NetlinkMessageTests {
    private typealias Bytes = NetlinkBytes

    private func content(_ type: UInt16, _ body: [UInt8]) -> NetlinkMessage.Content? {
        NetlinkMessage.messages(in: Bytes.message(type, body))?.first?.content
    }

    @Test func aLinkHasItsNameItsKindAndWhetherItRuns() {
        let wired = NetlinkMessage.Link(index: 2, name: "eth0", hardware: 1, kind: nil, isRunning: true)
        #expect(content(16, Bytes.link(2, "eth0")) == .link(wired))
        let pair = NetlinkMessage.Link(index: 7, name: "v0", hardware: 1, kind: "veth", isRunning: false)
        #expect(content(16, Bytes.link(7, "v0", kind: "veth", isRunning: false)) == .link(pair))
    }

    @Test func anAddressIsThatOfThisEnd() throws {
        let (own, other) = ([10, 0, 0, 1] as [UInt8], [10, 0, 0, 2] as [UInt8])
        let address = try #require(IPAddress(bytes: own))
        let expected = NetlinkMessage.Address(interface: 3, address: address, isUsable: true)
        #expect(content(20, Bytes.address(3, own, peer: other)) == .address(expected))
    }

    @Test(arguments: [(0 as UInt8, nil, true), (0x40, nil, false), (0x08, nil, false), (0x40, 0x80 as UInt32, true)])
    func anAddressThatIsStillLookedForADoubleIsNotUsable(_ flags: UInt8, _ long: UInt32?, _ isUsable: Bool) throws {
        let bytes = [0x20, 1, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [1]
        guard case .address(let address)? = content(20, Bytes.address(3, bytes, flags: flags, longFlags: long)) else {
            Issue.record("No address.")
            return
        }
        #expect(address.isUsable == isUsable && "\(address.address)" == "2001:db8::1")
    }

    @Test func aRouteHasItsPrefixItsInterfacesAndItsTable() throws {
        let prefix = try #require(IPAddress("10.1.0.0"))
        let route = NetlinkMessage.Route(
            kind: .leads, destination: prefix, length: 16, priority: 100, table: 254, interfaces: [5], isDead: false)
        #expect(content(24, Bytes.route(to: [10, 1, 0, 0], 16, by: 5, priority: 100)) == .route(route))
        // Two ways, one of them dead; a table beyond 255.
        let ways =
            Bytes.host(UInt16(8)) + [0, 0] + Bytes.host(UInt32(6)) + Bytes.host(UInt16(8)) + [1, 0]
            + Bytes.host(UInt32(7))
        let more = Bytes.attribute(9, ways) + Bytes.attribute(15, Bytes.host(UInt32(1000)))
        let spread = NetlinkMessage.Route(
            kind: .leads, destination: .v4(0), length: 0, priority: 0, table: 1000, interfaces: [6], isDead: false)
        #expect(content(24, Bytes.route(to: nil, 0, table: 0, more: more)) == .route(spread))
    }

    @Test(arguments: [
        (1 as UInt8, NetlinkMessage.Route.Kind.leads), (2, .leads), (6, .refuses), (7, .refuses), (8, .refuses),
        (9, .passes), (11, .refuses),
    ])
    func aRouteLeadsOrRefuses(_ type: UInt8, _ kind: NetlinkMessage.Route.Kind) {
        guard case .route(let route)? = content(24, Bytes.route(to: nil, 0, by: 1, type: type)) else {
            Issue.record("No route.")
            return
        }
        #expect(route.kind == kind)
    }

    @Test func irrelevantMessagesAreSkipped() {
        #expect(content(24, Bytes.route(to: [1, 2, 3, 4], 33, by: 1)) == .other)
        #expect(content(24, Bytes.route(to: nil, 0, family: 28, by: 1)) == .other)
        #expect(content(24, Bytes.route(to: [1, 2, 3, 4], 32, by: 1, flags: 0x200)) == .other)
        #expect(content(24, Bytes.route(to: [1, 2, 3], 8, by: 1)) == .other)
        #expect(content(24, Bytes.route(to: [1, 2, 3, 4], 8, family: 10, by: 1)) == .other)
        #expect(content(20, Bytes.address(1, [1, 2, 3])) == .other)
        #expect(content(99, []) == .other)
        #expect(content(17, []) == .change && content(21, []) == .change && content(25, []) == .change)
        #expect(content(3, [0, 0, 0, 0]) == .done && content(4, []) == .overrun)
        #expect(content(2, Bytes.host(Int32(-16))) == .failure(16))
    }

    @Test func aDatagramMayHoldSeveral() {
        let bytes =
            Bytes.message(16, sequence: 4, port: 9, Bytes.link(1, "lo", hardware: 772))
            + Bytes.message(3, flags: 0x12, sequence: 4, port: 9, [0, 0, 0, 0])
        let messages = NetlinkMessage.messages(in: bytes)
        #expect(messages?.count == 2)
        #expect(messages?.allSatisfy { $0.sequence == 4 && $0.port == 9 } == true)
        #expect(messages?.map(\.isInterrupted) == [false, true])
        #expect(NetlinkMessage.messages(in: []) == [])
    }

    /// Cut anywhere, it is refused or read as what is whole; with any byte changed, nothing traps.
    @Test func truncatedOrChangedMessagesDoNoHarm() {
        let way = Bytes.attribute(9, Bytes.host(UInt16(8)) + [0, 0] + Bytes.host(UInt32(6)))
        let bytes =
            Bytes.message(16, Bytes.link(1, "eth0", kind: "veth")) + Bytes.message(20, Bytes.address(1, [1, 2, 3, 4]))
            + Bytes.message(24, Bytes.route(to: nil, 0, by: 1, more: way))
        let boundaries = [0, 16 + Bytes.link(1, "eth0", kind: "veth").count]
        for length in bytes.indices {
            let messages = NetlinkMessage.messages(in: Array(bytes[..<length]))
            #expect(messages == nil || boundaries.contains(length) || (messages?.count ?? 0) > 1, "\(length)")
        }
        for index in bytes.indices {
            for value: UInt8 in [0, 1, 3, 0x7f, 0xff] {
                var changed = bytes
                changed[index] = value
                _ = NetlinkMessage.messages(in: changed)
            }
        }
    }

    @Test func aDatagramThatIsTooLongIsNotRead() {
        let most = [UInt8](repeating: 0, count: NetlinkMessage.maximumLength - 16)
        #expect(NetlinkMessage.messages(in: Bytes.message(99, most))?.count == 1)
        #expect(NetlinkMessage.messages(in: Bytes.message(99, most + [0])) == nil)
    }

    @Test(arguments: NetlinkMessage.Question.allCases)
    func aQuestionIsALengthATypeAndItsSequence(_ question: NetlinkMessage.Question) throws {
        let bytes = question.bytes(sequence: 77)
        let message = try #require(NetlinkMessage.messages(in: bytes)?.first)
        #expect(message.sequence == 77 && message.port == 0 && message.content == .other)
        #expect(Array(bytes[4..<8]) == Bytes.host(question.rawValue) + Bytes.host(0x301 as UInt16))
    }
}
