internal import Crypto
internal import SallyportBase
package import SallyportWire

/// An entry of a gateway's audit trail, in its place in a chain of hashes.
///
/// Its hash is SHA-256 of the bytes `v1`, the hash of the entry before it (32 bytes of zero for the first), and each
/// field, in the order of their names: the length of the name in 4 bytes, the most significant first, the name, the
/// length of the value, the value. The chain, the number and the time are fields too. Everything is text, numbers in
/// decimal.
public struct AuditEntry: Sendable, Hashable, Codable {
    /// `administration`, `access:renewals`, or `access:` and the identifier of the gateway whose chain it is.
    public let chain: String
    /// Counts from 1 in each chain, without gaps.
    public let number: Int64
    /// Milliseconds since 1970.
    public let time: Int64
    /// What happened, by the names in Docs/Administration.md: `kind`, `actor`, `outcome`, `user`, `instance`, …
    public let fields: [String: String]
    /// The hash of the entry before it.
    public let previous: [UInt8]
    /// As it is stored; only a verification tells whether it is that of the fields.
    public let hash: [UInt8]

    static let hashLength = 32

    init(
        chain: String, number: Int64, time: Int64, fields: [String: String], previous: [UInt8], hash: [UInt8]
    ) {
        (self.chain, self.number, self.time) = (chain, number, time)
        (self.fields, self.previous, self.hash) = (fields, previous, hash)
    }

    /// What the hash of these fields is.
    var computedHash: [UInt8] {
        var text: [UInt8] = Array("v1".utf8) + previous
        for (name, value) in allFields.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            for part in [name, value] {
                let bytes = Array(part.utf8)
                text += UInt32(truncatingIfNeeded: bytes.count).bigEndianBytes + bytes
            }
        }
        return Array(SHA256.hash(data: text))
    }

    private var allFields: [String: String] {
        fields.merging(["chain": chain, "number": "\(number)", "time": AuditTime.text(time)]) { $1 }
    }

    subscript(_ field: AuditField) -> String? { fields[field.rawValue] }

    /// One object of JSON on one line, with sorted names: the fields, `chain`, `number`, `time` (RFC 3339), and `previous`
    /// and `hash` in hexadecimal.
    public var json: String {
        // Texts and integers can always be written.
        (try? WireJSON.encode(object)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// The members of ``json``.
    package var object: [String: JSONValue] {
        var object = allFields.mapValues(JSONValue.string)
        for field in AuditField.allCases where field.isNumber {
            guard let number = self[field].flatMap({ Int64($0) }) else { continue }
            object[field.rawValue] = .integer(number)
        }
        object["number"] = .integer(number)
        object["previous"] = .string(Hexadecimal.text(previous))
        object["hash"] = .string(Hexadecimal.text(hash))
        return object
    }
}
