/// The identifier of an application: a reversed domain name, `com.example.report`.
///
/// 1 to 253 bytes of dot-separated labels, each 1 to 63 lower-case letters, digits and inner hyphens (RFC 1123 §2.1).
package struct EntitlementIdentifier: Sendable, Hashable, CustomStringConvertible, LosslessStringConvertible {
    package let description: String

    package init?(_ text: String) {
        guard text.utf8.count <= 253 else { return nil }
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isValid = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy(Self.isLabelByte)
        }
        guard isValid else { return nil }
        description = text
    }

    private static func isLabelByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

extension EntitlementIdentifier: TextCodable {}
extension EntitlementIdentifier: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}
