internal import Foundation
internal import SallyportBase

/// The name of a chain of entries.
enum AuditChainName: Sendable, Hashable {
    /// Of all gateways over one store: acts of administration, and what changes with them.
    case administration
    /// Of one gateway, by its identifier: what instances and strangers did there. With a relay's identifier behind it:
    /// what that relay has told this gateway.
    case access(String)

    /// The renewals of instances' certificates at all gateways over one store, each written in its transaction.
    /// Instances renew as often as they like, and must not push out what administrators have done.
    static let renewals = AuditChainName.access("renewals")

    private static let prefix = "access:"

    var text: String {
        switch self {
        case .administration: "administration"
        case .access(let gateway): Self.prefix + gateway
        }
    }

    /// The chain of an entry that is written in the transaction of the change which it tells.
    init(of event: AuditEvent) { self = event.kind == .renewal ? .renewals : .administration }

    /// What a relay tells has a chain of its own: whatever it tells, the limits of other chains are not reached by it.
    func of(_ relay: RelayIdentifier) -> AuditChainName {
        switch self {
        case .administration: self
        case .access(let gateway): .access("\(gateway).\(relay)")
        }
    }

    init?(_ text: String) {
        if text == "administration" {
            self = .administration
        } else if text.hasPrefix(Self.prefix), text.utf8.count <= 100, text.utf8.count > Self.prefix.utf8.count {
            self = .access(String(text.dropFirst(Self.prefix.count)))
        } else {
            return nil
        }
    }
}

/// Where a chain ends, or begins: the number and the hash of an entry.
struct AuditHead: Sendable, Hashable, Codable {
    var number: Int64
    var hash: [UInt8]

    /// Of a chain without entries.
    static let empty = AuditHead(number: 0, hash: [UInt8](repeating: 0, count: AuditEntry.hashLength))
}

/// A chain of entries, from one head to the next. A value.
struct AuditChain: Sendable, Hashable {
    let name: AuditChainName
    private(set) var head: AuditHead

    init(_ name: AuditChainName, after head: AuditHead) { (self.name, self.head) = (name, head) }

    /// Gives an event its place after the last entry.
    mutating func append(_ event: AuditEvent, salt: String = AuditChain.salt()) -> AuditEntry {
        var fields = Dictionary(uniqueKeysWithValues: event.fields.map { ($0.key.rawValue, $0.value) })
        fields[AuditField.salt.rawValue] = salt
        let (number, time) = (head.number + 1, event.time.milliseconds)
        func entry(_ hash: [UInt8]) -> AuditEntry {
            AuditEntry(
                chain: name.text, number: number, time: time, fields: fields, previous: head.hash, hash: hash)
        }
        let made = entry(entry([]).computedHash)
        head = AuditHead(number: number, hash: made.hash)
        return made
    }

    /// 96 random bits.
    static func salt() -> String { Hexadecimal.text([UInt8].random(count: 12)) }
}
