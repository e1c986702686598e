import Testing

@testable import SallyportCache

/// RFC 9111 §3.3, §3.4: which bytes of the complete content are stored.
@Suite struct StoredPartsTests {
    private static let text = Array("0123456789".utf8)

    private static func range(_ first: Int64, _ last: Int64, of total: Int64 = 10) throws -> ContentRange {
        try #require(ContentRange(first: first, last: last, total: total))
    }

    private static func body(_ ranges: (Int64, Int64)...) throws -> PartialBody {
        var body: PartialBody?
        for (first, last) in ranges {
            let (range, bytes) = (try range(first, last), Array(text[Int(first)...Int(last)]))
            body = body == nil ? PartialBody(range, bytes) : body?.adding(range, bytes)
        }
        return try #require(body)
    }

    private static func shape(_ body: PartialBody) -> [[Int64]] { body.parts.ranges.map { [$0.first, $0.last] } }

    @Test func partsAreJoinedInTheirOrder() throws {
        let apart = try Self.body((7, 8), (0, 1), (4, 4))
        #expect(Self.shape(apart) == [[0, 1], [4, 4], [7, 8]])
        #expect(String(decoding: apart.bytes, as: UTF8.self) == "01478")
        let joined = try Self.body((7, 8), (0, 1), (4, 4), (2, 5))
        #expect(Self.shape(joined) == [[0, 5], [7, 8]])
        #expect(String(decoding: joined.bytes, as: UTF8.self) == "01234578")
        let whole = try Self.body((5, 9), (0, 4))
        #expect(whole.parts.isWhole && whole.bytes == Self.text)
        #expect(try Self.body((3, 6), (0, 9)).bytes == Self.text)
        #expect(try Self.body((0, 9), (3, 6)).bytes == Self.text)
        #expect(try Self.body((0, 5), (3, 8)).bytes == Array(Self.text[...8]))
    }

    /// Every set of up to three ranges, compared with a plain array of bytes.
    @Test func everyCombinationHoldsWhatItWasGiven() throws {
        let ranges = (0..<6).flatMap { first in (first..<6).map { (Int64(first), Int64($0)) } }
        for one in ranges {
            for two in ranges {
                for three in ranges {
                    let body = try Self.body(one, two, three)
                    let there = (0..<6).filter { index in
                        [one, two, three].contains { ($0.0...$0.1).contains(Int64(index)) }
                    }
                    guard body.bytes == there.map({ Self.text[$0] }), body.parts.count == Int64(there.count) else {
                        Issue.record("\(one) \(two) \(three)")
                        return
                    }
                    #expect(StoredParts(total: 10, body.parts.ranges) == body.parts)
                }
            }
        }
    }

    /// In an overlap, the bytes that came last are used.
    @Test func ofBytesThatBothHaveTheNewOnesCount() throws {
        let body = try #require(try Self.body((0, 4)).adding(try Self.range(3, 6), Array("abcd".utf8)))
        #expect(String(decoding: body.bytes, as: UTF8.self) == "012abcd")
        #expect(try Self.body((0, 4)).adding(try Self.range(3, 6, of: 11), Array("abcd".utf8)) == nil, "Another whole.")
    }

    @Test func offsetsAreThoseOfTheStoredBytes() throws {
        let parts = try Self.body((2, 4), (7, 8)).parts
        for (first, last, offset) in [(2, 4, 0), (3, 3, 1), (7, 8, 3), (8, 8, 4)] as [(Int64, Int64, Int64)] {
            #expect(parts.offset(of: try Self.range(first, last)) == offset)
        }
        for (first, last) in [(1, 2), (4, 5), (4, 7), (5, 6), (8, 9), (0, 9)] as [(Int64, Int64)] {
            #expect(parts.offset(of: try Self.range(first, last)) == nil, "\(first)-\(last)")
        }
        #expect(parts.offset(of: try Self.range(3, 3, of: 11)) == nil)
    }

    @Test func oneRangeHasAllThatIsMissing() throws {
        let parts = try Self.body((2, 4), (7, 8)).parts
        func missing(_ first: Int64, _ last: Int64) throws -> ContentRange? {
            parts.missing(of: try Self.range(first, last))
        }
        #expect(try missing(0, 9) == Self.range(0, 9) && missing(2, 9) == Self.range(5, 9))
        #expect(try missing(2, 8) == Self.range(5, 6) && missing(3, 7) == Self.range(5, 6))
        #expect(try missing(0, 3) == Self.range(0, 1) && missing(5, 6) == Self.range(5, 6))
        #expect(try missing(2, 4) == nil && missing(3, 3) == nil && missing(7, 7) == nil)
    }

    @Test func thereAreNeverMorePartsThanTheLimit() throws {
        let total: Int64 = 1000
        var body = PartialBody(try Self.range(0, 8, of: total), Array(repeating: 9, count: 9))
        for number in 1..<40 {
            let first = Int64(number) * 20
            let count = number == 5 ? 1 : 3
            let range = try Self.range(first, first + Int64(count) - 1, of: total)
            body = try #require(body.adding(range, Array(repeating: UInt8(number), count: count)))
            #expect(body.parts.ranges.count <= StoredParts.limit)
            #expect(body.parts.ranges.contains(range), "The new one stays.")
            #expect(Int64(body.bytes.count) == body.parts.count)
        }
        #expect(body.parts.ranges.first?.count == 9, "The longest stays.")
        #expect(!body.bytes.contains(5), "The shortest goes first.")
    }

    @Test func rangesOutOfOrderAreNotParts() throws {
        let (low, high) = (try Self.range(0, 1), try Self.range(4, 5))
        #expect(StoredParts(total: 10, [low, high]) != nil && StoredParts(total: 10, [high, low]) == nil)
        #expect(StoredParts(total: 10, []) == nil && StoredParts(total: 11, [low]) == nil)
        #expect(StoredParts(total: 10, [low, try Self.range(2, 3)]) == nil, "They touch.")
        #expect(StoredParts(total: 10, [low, try Self.range(1, 3)]) == nil, "They overlap.")
    }
}
