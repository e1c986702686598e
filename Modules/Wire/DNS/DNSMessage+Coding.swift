internal import SallyportCore

extension DNSMessage {
    /// Reads a message. Records of other types and classes, and the sections after the answers, are skipped; of a
    /// truncated message, all records are.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= Self.maximumLength else { throw WireError(.tooLarge, "A DNS message is too long.") }
        var reader = DNSReader(bytes)
        id = try reader.number16()
        let flags = try reader.number16()
        guard flags >> 11 & 15 == 0 else { throw WireError(.unsupported, "Only DNS queries are understood.") }
        guard let code = ResponseCode(rawValue: UInt8(flags & 15)) else {
            throw WireError(.unsupported, "An unknown DNS response code.")
        }
        self.code = code
        isResponse = flags & 0x8000 != 0
        isTruncated = flags & 0x0200 != 0
        recursionDesired = flags & 0x0100 != 0
        recursionAvailable = flags & 0x0080 != 0
        var counts: [Int] = []
        for _ in 0..<4 { counts.append(Int(try reader.number16())) }
        guard counts[0] == 1 else { throw WireError(.unsupported, "A DNS message has one question.") }
        question = try reader.question()
        answers = []
        // It may end within a record, and count records that it lacks (RFC 2181 §9).
        guard !isTruncated else { return }
        guard counts[1...].reduce(0, +) <= Self.maximumRecords else {
            throw WireError(.tooLarge, "A DNS message has at most \(Self.maximumRecords) records.")
        }
        for _ in 0..<counts[1] {
            if let record = try reader.record() { answers.append(record) }
        }
    }

    /// The wire form, without compression.
    package func serialized() throws(WireError) -> [UInt8] {
        var flags = UInt16(code.rawValue)
        if isResponse { flags |= 0x8000 }
        if isTruncated { flags |= 0x0200 }
        if recursionDesired { flags |= 0x0100 }
        if recursionAvailable { flags |= 0x0080 }
        guard answers.count <= Self.maximumRecords else { throw WireError(.tooLarge, "Too many DNS records.") }
        var bytes = [id, flags, 1, UInt16(answers.count), 0, 0].flatMap(Self.bytes)
        bytes += question.name.bytes + Self.bytes(question.type.rawValue) + Self.bytes(1)
        for answer in answers { bytes += Self.bytes(of: answer) }
        guard bytes.count <= Self.maximumLength else { throw WireError(.tooLarge, "A DNS message is too long.") }
        return bytes
    }

    private static func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

    private static func bytes(of record: Record) -> [UInt8] {
        let (type, data): (RecordType, [UInt8]) =
            switch record.data {
            case .address(let address): (address.bytes.count == 4 ? .a : .aaaa, address.bytes)
            case .canonicalName(let name): (.cname, name.bytes)
            case .service(let priority, let weight, let port, let target):
                (.srv, [priority, weight, port].flatMap(bytes) + target.bytes)
            }
        let lifetime = [UInt16(record.timeToLive >> 16), UInt16(record.timeToLive & 0xffff)]
        return record.name.bytes + ([type.rawValue, 1] + lifetime + [UInt16(data.count)]).flatMap(bytes) + data
    }
}

/// Reads a message from front to back.
private struct DNSReader {
    let bytes: [UInt8]
    var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func number16() throws(WireError) -> UInt16 {
        guard offset + 2 <= bytes.count else { throw WireError(.malformed, "A DNS message is cut short.") }
        defer { offset += 2 }
        return UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
    }

    mutating func question() throws(WireError) -> DNSMessage.Question {
        let name = try DNSName(in: bytes, at: &offset)
        guard let type = DNSMessage.RecordType(rawValue: try number16()), try number16() == 1 else {
            throw WireError(.unsupported, "A DNS question is for A, AAAA, CNAME or SRV of class IN.")
        }
        return DNSMessage.Question(name, type)
    }

    /// Nil for a record of another type or class.
    mutating func record() throws(WireError) -> DNSMessage.Record? {
        let name = try DNSName(in: bytes, at: &offset)
        let type = DNSMessage.RecordType(rawValue: try number16())
        let isInternet = try number16() == 1
        let lifetime = try UInt32(number16()) << 16 | UInt32(number16())
        let end = try Int(number16()) + offset
        guard end <= bytes.count else { throw WireError(.malformed, "A DNS record runs over the end.") }
        defer { offset = end }
        guard let type, isInternet else { return nil }
        let data = try data(of: type, until: end)
        return DNSMessage.Record(name, timeToLive: lifetime, data)
    }

    private mutating func data(of type: DNSMessage.RecordType, until end: Int) throws(WireError) -> DNSMessage.Data {
        let data: DNSMessage.Data
        switch type {
        case .a, .aaaa:
            let address = Array(bytes[offset..<end])
            guard address.count == (type == .a ? 4 : 16), let address = IPAddress(bytes: address) else {
                throw WireError(.malformed, "A DNS address has 4 or 16 bytes.")
            }
            return .address(address)
        case .cname: data = .canonicalName(try DNSName(in: bytes, at: &offset))
        case .srv:
            data = try .service(
                priority: number16(), weight: number16(), port: number16(), target: DNSName(in: bytes, at: &offset))
        }
        guard offset == end else { throw WireError(.malformed, "A DNS record differs from its declared length.") }
        return data
    }
}
