public import SallyportCore
internal import SallyportWire

/// The result of looking up a name in the enterprise's DNS.
public struct NameAnswer: Sendable, Hashable {
    /// The type of record to look up.
    public enum RecordType: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// An alias.
        case cname
        /// IPv4 addresses.
        case a
        /// IPv6 addresses.
        case aaaa
        /// The location of a service (RFC 2782); the name includes its leading labels, as in
        /// `_kerberos._tcp.corp.example`.
        case srv

        /// 0 for CNAME, 1 for A, 2 for AAAA and 3 for SRV.
        public var number: Int {
            switch self {
            case .cname: 0
            case .a: 1
            case .aaaa: 2
            case .srv: 3
            }
        }

        public var description: String { rawValue.uppercased() }
    }

    /// One record of the answer.
    public struct Record: Sendable, Hashable {
        /// The content of a record.
        public enum Value: Sendable, Hashable {
            /// Of type A or AAAA.
            case address(IPAddress)
            /// Of type CNAME: another name for the queried one (RFC 1034 §3.6.2).
            case canonicalName(String)
            /// Among targets of the same priority, of which the lowest comes first, clients choose by weight.
            case service(target: String, port: UInt16, priority: UInt16, weight: UInt16)
        }
        /// The content.
        public let value: Value
        /// How long the record is valid.
        public let timeToLive: Duration
    }

    /// The queried name, in A-labels and lower case.
    public let name: String
    /// The queried type.
    public let type: RecordType
    /// Whether the name exists; an existing name may have no records of the type.
    public let exists: Bool
    /// The name to which the records belong, after following aliases.
    public let canonicalName: String
    /// The records of the requested type.
    public let records: [Record]

    /// The addresses among ``records``, in their order; empty for other types than A and AAAA.
    public var addresses: [IPAddress] {
        records.compactMap { if case .address(let address) = $0.value { address } else { nil } }
    }
}

extension NameAnswer {
    /// The longest chain of aliases.
    static let maximumChain = 16

    /// - Throws: ``NameError/Code/parsingResponseError`` if aliases form a loop or too long a chain.
    init(_ message: DNSMessage, type: RecordType) throws(NameError) {
        let asked = message.question.name
        let last = type == .cname ? asked : try Self.end(of: asked, in: message.answers)
        name = "\(asked)"
        self.type = type
        exists = message.code != .nameError
        canonicalName = "\(last)"
        // Records of other names were not requested, and are ignored.
        records = message.answers.filter { $0.name == last }.compactMap { Self.record($0, of: type) }
    }

    /// Follows aliases (RFC 1034 §3.6.2).
    private static func end(of name: DNSName, in records: [DNSMessage.Record]) throws(NameError) -> DNSName {
        var name = name
        for _ in 0...maximumChain {
            let next = records.lazy.compactMap { record -> DNSName? in
                guard record.name == name, case .canonicalName(let target) = record.data else { return nil }
                return target
            }
            guard let target = next.first else { return name }
            name = target
        }
        throw NameError(.parsingResponseError, "More than \(maximumChain) names stand for one another.")
    }

    private static func record(_ record: DNSMessage.Record, of type: RecordType) -> Record? {
        let value: Record.Value
        switch (record.data, type) {
        case (.address(let address), .a) where address.bytes.count == 4: value = .address(address)
        case (.address(let address), .aaaa) where address.bytes.count == 16: value = .address(address)
        case (.canonicalName(let target), .cname): value = .canonicalName("\(target)")
        case (.service(let priority, let weight, let port, let target), .srv):
            value = .service(target: "\(target)", port: port, priority: priority, weight: weight)
        default: return nil
        }
        return Record(value: value, timeToLive: .seconds(Int64(record.timeToLive)))
    }
}
