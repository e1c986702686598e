internal import SallyportCore

extension NetlinkMessage {
    /// The longest datagram that is read: the kernel fills up to 32 KiB.
    package static let maximumLength = 64 << 10

    /// The messages of one datagram; nil if its lengths are inconsistent, so that it cannot be parsed.
    package static func messages(in bytes: [UInt8]) -> [NetlinkMessage]? {
        guard bytes.count <= maximumLength else { return nil }
        var messages: [NetlinkMessage] = []
        var start = 0
        while start < bytes.count {
            var header = HostOrderReader(bytes, start..<bytes.count)
            guard let length = header.number32().flatMap(Int.init(exactly:)), length >= 16,
                length <= bytes.count - start, let type = header.number16(), let flags = header.number16(),
                let sequence = header.number32(), let port = header.number32(),
                let content = content(type, HostOrderReader(bytes, (start + 16)..<(start + length)))
            else { return nil }
            messages.append(
                NetlinkMessage(content: content, sequence: sequence, port: port, isInterrupted: flags & 0x10 != 0))
            start += (length + 3) & ~3
        }
        return messages
    }

    /// Nil if the body is shorter than its type requires.
    private static func content(_ type: UInt16, _ body: HostOrderReader) -> Content? {
        var body = body
        switch type {
        case 2: return body.number32().map { .failure(Int32(bitPattern: 0 &- $0)) }
        case 3: return .done
        case 4: return .overrun
        case 16: return link(&body)
        case 20: return address(&body)
        case 24: return route(&body)
        case 17, 21, 25: return .change
        default: return .other
        }
    }

    /// `struct ifinfomsg`.
    private static func link(_ body: inout HostOrderReader) -> Content? {
        guard body.skip(2), let hardware = body.number16(), let index = body.number32(), let flags = body.number32(),
            body.skip(4)
        else { return nil }
        // IFF_UP and IFF_RUNNING.
        var link = Link(index: index, name: "", hardware: hardware, kind: nil, isRunning: flags & 0x41 == 0x41)
        while let attribute = body.attribute() {
            switch attribute.type {
            case 3: link.name = attribute.text ?? ""
            case 18: link.kind = kind(attribute.reader)
            default: break
            }
        }
        return .link(link)
    }

    private static func kind(_ reader: HostOrderReader) -> String? {
        var reader = reader
        while let attribute = reader.attribute() {
            if attribute.type == 1 { return attribute.text }
        }
        return nil
    }

    /// `struct ifaddrmsg`. Families other than IP are skipped.
    private static func address(_ body: inout HostOrderReader) -> Content? {
        guard body.skip(2), var flags = body.byte().map(UInt32.init), body.skip(1), let interface = body.number32()
        else { return nil }
        var (address, local): ([UInt8]?, [UInt8]?)
        while let attribute = body.attribute() {
            switch attribute.type {
            case 1: address = attribute.value
            // The local address, if the other end of the link has a different one.
            case 2: local = attribute.value
            case 8: flags = attribute.number ?? flags
            default: break
            }
        }
        guard let address = (local ?? address).flatMap(IPAddress.init(bytes:)) else { return .other }
        return .address(Address(interface: interface, address: address, isUsable: flags & 0x48 == 0))
    }

    /// `struct rtmsg`. Cached copies of routes, and families other than IP, are skipped.
    private static func route(_ body: inout HostOrderReader) -> Content? {
        guard let family = body.byte(), let length = body.byte().map(Int.init), body.skip(2),
            var table = body.byte().map(UInt32.init), body.skip(2), let type = body.byte(),
            let flags = body.number32()
        else { return nil }
        guard let any = anyAddress(family), length <= any.bytes.count * 8, flags & 0x200 == 0 else { return .other }
        var route = Route(
            kind: kind(ofRoute: type), destination: any, length: length, priority: 0, table: table, interfaces: [],
            isDead: flags & 0x11 != 0)
        while let attribute = body.attribute() {
            switch attribute.type {
            case 1:
                guard let address = IPAddress(bytes: attribute.value) else { return .other }
                route.destination = address
            case 4: if let interface = attribute.number { route.interfaces.append(interface) }
            case 6: route.priority = attribute.number ?? 0
            case 9: route.interfaces += interfaces(attribute.reader)
            case 15: table = attribute.number ?? table
            default: break
            }
        }
        route.table = table
        guard route.destination.bytes.count == any.bytes.count else { return .other }
        return .route(route)
    }

    private static func anyAddress(_ family: UInt8) -> IPAddress? {
        switch family {
        case 2: .v4(0)
        case 10: .v6(high: 0, low: 0)
        default: nil
        }
    }

    private static func kind(ofRoute type: UInt8) -> Route.Kind {
        switch type {
        case 1...5: .leads
        case 9: .passes
        default: .refuses
        }
    }

    /// The interfaces of a multipath route (`struct rtnexthop`), without dead ones.
    private static func interfaces(_ reader: HostOrderReader) -> [UInt32] {
        var reader = reader
        var found: [UInt32] = []
        while true {
            let room = reader.remaining
            guard let length = reader.number16().map(Int.init), let flags = reader.byte(), reader.skip(1),
                let interface = reader.number32(), length >= 8, length <= room
            else { return found }
            if flags & 0x11 == 0 { found.append(interface) }
            guard reader.skip(min((length + 3) & ~3, room) - 8) else { return found }
        }
    }
}
