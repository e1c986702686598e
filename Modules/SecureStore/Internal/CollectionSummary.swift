internal import SallyportBase

/// The authenticated count and sum of a collection. They reveal records that are missing, added or out of date, which
/// no single record can show.
///
/// The sum adds a keyed digest of each record (its place and its tag) in four lanes modulo 2⁶⁴. The summary itself is
/// sealed, so that only the holder of the keys can create one.
struct CollectionSummary: Equatable, Sendable {
    private(set) var count: UInt64 = 0
    private var sum: SIMD4<UInt64> = .zero

    mutating func added(_ record: [UInt8], at place: [UInt8], key: MACKey) {
        count &+= 1
        sum &+= Self.digest(record, place, key)
    }

    /// The sum of no records is known: if the tag of the last one, or of one that was replaced before, was damaged,
    /// what is left of its digest would be wrong for good.
    mutating func removed(_ record: [UInt8], at place: [UInt8], key: MACKey) {
        guard count != 1 else { return self = CollectionSummary() }
        count &-= 1
        sum &-= Self.digest(record, place, key)
    }

    private static func digest(_ record: [UInt8], _ place: [UInt8], _ key: MACKey) -> SIMD4<UInt64> {
        var digest: SIMD4<UInt64> = .zero
        unsafe withUnsafeMutableBytes(of: &digest) { out in
            unsafe place.withUnsafeBytes { place in
                unsafe record.withUnsafeBytes { record in
                    let tag = unsafe UnsafeRawBufferPointer(rebasing: record.suffix(AEADKey.tagLength))
                    unsafe key.authenticate(place, tag, into: out.baseAddress.unsafelyUnwrapped)
                }
            }
        }
        return SIMD4(digest.x.bigEndian, digest.y.bigEndian, digest.z.bigEndian, digest.w.bigEndian)
    }

    var bytes: [UInt8] { ([count] + (0..<4).map { sum[$0] }).flatMap(\.bigEndianBytes) }

    var entries: Int { Int(clamping: count) }

    init() {}

    init?(bytes: [UInt8]) {
        guard bytes.count == 40 else { return nil }
        let words = stride(from: 0, to: 40, by: 8).map { UInt64(bigEndianBytes: bytes[$0..<$0 + 8]) }
        count = words[0]
        sum = SIMD4(words[1], words[2], words[3], words[4])
    }
}
