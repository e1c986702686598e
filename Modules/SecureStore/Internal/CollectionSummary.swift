internal import Crypto

/// The authenticated count and sum of a collection: what finds records that are missing, added, or older than they
/// should be, which no single record can show.
///
/// The sum adds a keyed digest of each record (its place and its tag) in four lanes modulo 2⁶⁴; the summary itself is
/// sealed, so that only who has the keys can make one.
struct CollectionSummary: Equatable, Sendable {
    private(set) var count: UInt64 = 0
    private var sum: [UInt64] = [0, 0, 0, 0]

    mutating func added(_ record: [UInt8], at place: [UInt8], key: SymmetricKey) {
        count &+= 1
        let digest = Self.digest(record, place, key)
        for lane in 0..<4 { sum[lane] &+= digest[lane] }
    }

    mutating func removed(_ record: [UInt8], at place: [UInt8], key: SymmetricKey) {
        count &-= 1
        let digest = Self.digest(record, place, key)
        for lane in 0..<4 { sum[lane] &-= digest[lane] }
    }

    private static func digest(_ record: [UInt8], _ place: [UInt8], _ key: SymmetricKey) -> [UInt64] {
        let code = Array(HMAC<SHA256>.authenticationCode(for: place + record.suffix(16), using: key))
        return (0..<4).map { UInt64(bigEndianOctets: code[$0 * 8..<$0 * 8 + 8]) }
    }

    var octets: [UInt8] { ([count] + sum).flatMap(\.bigEndianOctets) }

    var entries: Int { Int(clamping: count) }

    init() {}

    init?(octets: [UInt8]) {
        guard octets.count == 40 else { return nil }
        let words = stride(from: 0, to: 40, by: 8).map { UInt64(bigEndianOctets: octets[$0..<$0 + 8]) }
        count = words[0]
        sum = Array(words[1...])
    }
}
