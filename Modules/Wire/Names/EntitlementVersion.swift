/// The version of an application: 1 to 4 numbers of up to 3 digits, dot-separated, without leading zeros.
///
/// Entitlement needs an exact match, so `1.0` and `1.0.0.0` are two versions; in order, a missing number counts as 0
/// and the shorter one comes first.
package struct EntitlementVersion: Sendable, Hashable, CustomStringConvertible, LosslessStringConvertible {
    private let numbers: [UInt16]

    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count), text.utf8.count <= 15 else { return nil }
        let numbers = parts.compactMap { part -> UInt16? in
            guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0"),
                part.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            else { return nil }
            return UInt16(Substring(part))
        }
        guard numbers.count == parts.count else { return nil }
        self.numbers = numbers
    }

    package var description: String { numbers.map(String.init).joined(separator: ".") }
}

extension EntitlementVersion: TextCodable {}
extension EntitlementVersion: Comparable {
    package static func < (left: Self, right: Self) -> Bool {
        let count = max(left.numbers.count, right.numbers.count)
        let padded = [left, right].map { $0.numbers + [UInt16](repeating: 0, count: count - $0.numbers.count) }
        if padded[0] == padded[1] { return left.numbers.count < right.numbers.count }
        return padded[0].lexicographicallyPrecedes(padded[1])
    }
}
