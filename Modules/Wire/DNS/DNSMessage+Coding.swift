internal import SallyportCore

extension DNSMessage {
    /// Reads a message. Records of other types and classes, and the sections after the answers, are skipped.
    package init(parsing octets: [UInt8]) throws(WireError) {
        guard octets.count <= Self.maximumLength else { throw WireError(.tooLarge, "A DNS message is too long.") }
        var reader = DNSReader(octets)
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
        guard counts[1...].reduce(0, +) <= Self.maximumRecords else {
            throw WireError(.tooLarge, "A DNS message has at most \(Self.maximumRecords) records.")
        }
        question = try reader.question()
        answers = []
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
        var octets = [id, flags, 1, UInt16(answers.count), 0, 0].flatMap(Self.octets)
        octets += question.name.octets + Self.octets(question.type.rawValue) + Self.octets(1)
        for answer in answers { octets += Self.octets(of: answer) }
        guard octets.count <= Self.maximumLength else { throw WireError(.tooLarge, "A DNS message is too long.") }
        return octets
    }

    private static func octets(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

    private static func octets(of record: Record) -> [UInt8] {
        let (type, data): (RecordType, [UInt8]) =
            switch record.data {
            case .address(let address): (address.octets.count == 4 ? .a : .aaaa, address.octets)
            case .canonicalName(let name): (.cname, name.octets)
            case .service(let priority, let weight, let port, let target):
                (.srv, [priority, weight, port].flatMap(octets) + target.octets)
            }
        let lifetime = [UInt16(record.timeToLive >> 16), UInt16(record.timeToLive & 0xffff)]
        return record.name.octets + ([type.rawValue, 1] + lifetime + [UInt16(data.count)]).flatMap(octets) + data
    }
}

/// Reads a message from front to back.
private struct DNSReader {
    let octets: [UInt8]
    var offset = 0

    init(_ octets: [UInt8]) { self.octets = octets }

    mutating func number16() throws(WireError) -> UInt16 {
        guard offset + 2 <= octets.count else { throw WireError(.malformed, "A DNS message is cut short.") }
        defer { offset += 2 }
        return UInt16(octets[offset]) << 8 | UInt16(octets[offset + 1])
    }

    mutating func question() throws(WireError) -> DNSMessage.Question {
        let name = try DNSName(in: octets, at: &offset)
        guard let type = DNSMessage.RecordType(rawValue: try number16()), try number16() == 1 else {
            throw WireError(.unsupported, "A DNS question is for A, AAAA, CNAME or SRV of class IN.")
        }
        return DNSMessage.Question(name, type)
    }

    /// Nil for a record of another type or class.
    mutating func record() throws(WireError) -> DNSMessage.Record? {
        let name = try DNSName(in: octets, at: &offset)
        let type = DNSMessage.RecordType(rawValue: try number16())
        let isInternet = try number16() == 1
        let lifetime = try UInt32(number16()) << 16 | UInt32(number16())
        let end = try Int(number16()) + offset
        guard end <= octets.count else { throw WireError(.malformed, "A DNS record runs over the end.") }
        defer { offset = end }
        guard let type, isInternet else { return nil }
        let data = try data(of: type, until: end)
        return DNSMessage.Record(name, timeToLive: lifetime, data)
    }

    private mutating func data(of type: DNSMessage.RecordType, until end: Int) throws(WireError) -> DNSMessage.Data {
        let data: DNSMessage.Data
        switch type {
        case .a, .aaaa:
            let address = Array(octets[offset..<end])
            guard address.count == (type == .a ? 4 : 16), let address = IPAddress(octets: address) else {
                throw WireError(.malformed, "A DNS address has 4 or 16 bytes.")
            }
            return .address(address)
        case .cname: data = .canonicalName(try DNSName(in: octets, at: &offset))
        case .srv:
            data = try .service(
                priority: number16(), weight: number16(), port: number16(), target: DNSName(in: octets, at: &offset))
        }
        guard offset == end else { throw WireError(.malformed, "A DNS record differs from its declared length.") }
        return data
    }
}
