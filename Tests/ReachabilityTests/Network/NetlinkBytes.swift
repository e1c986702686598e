/// Messages as the kernel lays them out.
struct NetlinkBytes {
    static func host(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

    static func message(
        _ type: UInt16, flags: UInt16 = 2, sequence: UInt32 = 0, port: UInt32 = 0, _ body: [UInt8]
    ) -> [UInt8] {
        let bytes = host(UInt32(16 + body.count)) + host(type) + host(flags) + host(sequence) + host(port) + body
        return bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
    }

    static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        let bytes = host(UInt16(4 + value.count)) + host(type) + value
        return bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
    }

    static func link(
        _ index: UInt32, _ name: String, hardware: UInt16 = 1, kind: String? = nil, isRunning: Bool = true
    ) -> [UInt8] {
        let flags: UInt32 = isRunning ? 0x1_0043 : 0x1003
        var body = [0, 0] + host(hardware) + host(index) + host(flags) + host(UInt32(0))
        body += attribute(3, Array(name.utf8) + [0])
        if let kind { body += attribute(18 | 0x8000, attribute(1, Array(kind.utf8) + [0])) }
        return body
    }

    static func address(
        _ index: UInt32, _ address: [UInt8], peer: [UInt8]? = nil, flags: UInt8 = 0, longFlags: UInt32? = nil
    ) -> [UInt8] {
        var body = [address.count == 4 ? 2 : 10, 24, flags, 0] + host(index)
        body += attribute(1, peer ?? address)
        if address.count == 4 { body += attribute(2, address) }
        if let longFlags { body += attribute(8, host(longFlags)) }
        return body
    }

    static func route(
        to destination: [UInt8]?, _ length: UInt8, family: UInt8 = 2, by interface: UInt32? = nil, table: UInt8 = 254,
        type: UInt8 = 1, flags: UInt32 = 0, priority: UInt32? = nil, more: [UInt8] = []
    ) -> [UInt8] {
        var body = [family, length, 0, 0, table, 0, 0, type] + host(flags)
        if let destination { body += attribute(1, destination) }
        if let interface { body += attribute(4, host(interface)) }
        if let priority { body += attribute(6, host(priority)) }
        return body + more
    }
}
