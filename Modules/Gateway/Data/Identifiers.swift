internal import Foundation
internal import SallyportBase
internal import SallyportWire

/// Identifies a user: made when the user is added, and never reused. The same name may later belong to another user.
struct UserIdentifier: Sendable, Hashable, Codable {
    fileprivate let value: UUID

    init() { value = UUID() }

    /// - Returns: nil if the text is of another form than an encoder writes.
    init?(_ reader: inout MemberReader) {
        var value: UUID?
        let isRead = reader.object { member, reader in
            guard member == "value" else { return false }
            value = reader.string().flatMap { UUID(digits: $0) }
            return true
        }
        guard isRead, let value else { return nil }
        self.value = value
    }
}

extension UUID {
    /// As `init(uuidString:)` reads it; that scans the text by a format, at a microsecond for each.
    fileprivate init?(digits text: String) {
        guard text.utf8.count == 36 else { return nil }
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        var place = 0
        for byte in text.utf8 {
            if place == 8 || place == 13 || place == 18 || place == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = Hexadecimal.value(ofDigit: byte) else { return nil }
                halves = (halves.high << 4 | halves.low >> 60, halves.low << 4 | UInt64(digit))
            }
            place += 1
        }
        let bytes = halves.high.bigEndianBytes + halves.low.bigEndianBytes
        self.init(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
                bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
    }
}

/// One user's right to one application, on which instances and access keys depend.
struct Grant: Sendable, Hashable {
    let user: UserIdentifier
    let entitlement: String

    /// The same for equal grants only.
    var text: String { "\(user.value.uuidString) \(entitlement)" }
}

/// The identifier of an access key for administrators: a UUID in lower case.
struct AccessKeyIdentifier: Sendable, Hashable, TextCodable {
    let description: String

    init() { description = UUID().uuidString.lowercased() }

    init?(_ text: String) {
        guard let value = UUID(uuidString: text) else { return nil }
        description = value.uuidString.lowercased()
    }
}
