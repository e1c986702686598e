import HTTPTypes
import SallyportCore
import Testing

@testable import SallyportCache

@Suite struct EntryTests {
    static let answer = CachedAnswer(
        principal: "ann", url: "https://a.example/x?y", way: .relay,
        trust: TrustScope(digest: [1, 2, 3], asksApp: true), requested: CacheTime(milliseconds: 5),
        received: CacheTime(milliseconds: 7), status: .init(code: 206, reasonPhrase: "Part"),
        fields: fields,
        parts: StoredParts(total: 9, [(2, 3), (7, 7)].compactMap { ContentRange(first: $0, last: $1, total: 9) }),
        length: 3, isStreamed: false,
        initialAge: 11, lifetime: 60,
        reuse: ReuseTerms(noCache: true, isImmutable: true, staleWhileRevalidate: 0, staleIfError: 9))

    /// Names that a record has as one byte, in either case, and one that is spelled out.
    private static let fields = HTTPFields(
        [("ETag", "\"a\""), ("Vary", "x"), ("Content-Type", "text/plain"), ("age", "2"), ("X-Own", "own")]
            .compactMap { name, value in HTTPField.Name(name).map { HTTPField(name: $0, value: value) } })

    @Test func anAnswerIsReadAsItWasWritten() throws {
        let bytes = Self.answer.bytes(body: Array("abc".utf8))
        let (answer, body) = try #require(CachedAnswer.decode(bytes))
        #expect(answer == Self.answer && body == Array("abc".utf8))
        #expect(answer.fields.count == 5)
        #expect(answer.status.reasonPhrase == "Part")
        // Names are equal in any spelling.
        #expect(answer.fields.map(\.name.rawName) == Self.answer.fields.map(\.name.rawName))
    }

    @Test(arguments: [
        ("max-age=5", ReuseTerms()), ("no-cache", ReuseTerms(noCache: true)),
        ("must-revalidate, immutable", ReuseTerms(mustRevalidate: true, isImmutable: true)),
        ("stale-while-revalidate=3, stale-if-error=4", ReuseTerms(staleWhileRevalidate: 3, staleIfError: 4)),
    ])
    func whatDecidesAboutReuseIsKeptWithTheAnswer(_ control: String, _ terms: ReuseTerms) throws {
        var answer = Self.answer
        answer.fields[.cacheControl] = control
        answer.measure()
        #expect(answer.reuse == terms)
        #expect(try #require(CachedAnswer.decode(answer.bytes(body: Array("abc".utf8)))).answer.reuse == terms)
    }

    /// Lengths that lie, and every cut and flip of one byte: another answer, or none, but never a trap.
    @Test func damagedRecordsAreNoAnswers() {
        let bytes = Self.answer.bytes(body: Array("abc".utf8))
        for length in 0..<bytes.count { #expect(CachedAnswer.decode(Array(bytes[..<length])) == nil) }
        #expect(CachedAnswer.decode(bytes + [0]) == nil)
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << UInt8(bit)
                _ = CachedAnswer.decode(damaged)
            }
        }
    }

    @Test func aSlotIsReadAsItWasWritten() throws {
        let slot = IndexSlot(
            id: .random(), url: 1, host: 2, origin: 3, principal: .max, scope: 9, names: ["accept", "x-a"],
            variation: 4, size: 5, received: CacheTime(milliseconds: 6), dated: CacheTime(milliseconds: 8),
            used: CacheTime(milliseconds: -7))
        #expect(IndexSlot(id: slot.id, bytes: slot.bytes) == slot)
        for length in 0..<slot.bytes.count {
            #expect(IndexSlot(id: slot.id, bytes: Array(slot.bytes[..<length])) == nil)
        }
    }

    /// The vectors of SipHash's reference: bytes 0, 1, 2 … under the key 0, 1, … 15.
    @Test func theHashIsSipHash() {
        let expected: [Int: UInt64] = [0: 0x726f_db47_dd0e_0e31, 1: 0x74f8_39c5_93dc_67fd, 15: 0xa129_ca61_49be_45e5]
        for (length, code) in expected {
            var hash = KeyHash(key: Array(0..<16))
            for byte in 0..<UInt8(length) { hash.combine(byte: byte) }
            #expect(hash.finalize() == code, "\(length)")
        }
    }

    @Test func theIndexKeepsItsFigures() {
        func slot(_ url: UInt64, _ size: Int64, used: Int64, variation: UInt64 = 0) -> IndexSlot {
            IndexSlot(
                id: .random(), url: url, host: 0, origin: 0, principal: 1, scope: 1,
                names: variation == 0 ? [] : ["a"], variation: variation, size: size,
                received: CacheTime(milliseconds: used), dated: CacheTime(milliseconds: used),
                used: CacheTime(milliseconds: used))
        }
        var index = CacheIndex()
        let (a, b, c) = (slot(1, 10, used: 1), slot(2, 20, used: 3), slot(3, 30, used: 2))
        for slot in [a, b, c] { #expect(index.insert(slot).isEmpty) }
        #expect(index.count == 3 && index.size == 60)
        #expect(index.victims(toFit: 60).isEmpty)
        #expect(index.victims(toFit: 50) == [a])
        #expect(index.victims(toFit: 20) == [a, c])
        #expect(index.victims(toFit: 0).count == 3)
        #expect(index.insert(slot(1, 5, used: 4)) == [a])
        #expect(index.size == 55 && index.count == 3)
        for number in 1...40 { index.insert(slot(9, 1, used: Int64(number), variation: UInt64(number))) }
        #expect(index.slots(of: 9).count == CacheIndex.variationLimit)
        #expect(index.size == 55 + Int64(CacheIndex.variationLimit))
    }

    @Test func removalsAreRememberedOrCountForAll() {
        var removals = Removals()
        removals.removed(7)
        let start = removals.count
        #expect(!removals.hasRemoved(7, since: start) && removals.hasRemoved(7, since: 0))
        #expect(!removals.hasRemoved(8, since: 0))
        for url in 100..<400 { removals.removed(UInt64(url)) }
        #expect(removals.hasRemoved(8, since: start))
        #expect(!removals.hasRemoved(8, since: removals.count))
    }
}
