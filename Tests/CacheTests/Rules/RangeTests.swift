import HTTPTypes
import Testing

@testable import SallyportCache

/// RFC 9110 §14.
@Suite struct RangeTests {
    private func range(_ text: String) -> ByteRange? { ByteRange([.range: text]) }

    @Test func oneRangeIsRead() {
        #expect(range("bytes=0-9")?.resolved(total: 100) == ContentRange(first: 0, last: 9, total: 100))
        #expect(range("bytes=90-")?.resolved(total: 100) == ContentRange(first: 90, last: 99, total: 100))
        #expect(range("bytes=-10")?.resolved(total: 100) == ContentRange(first: 90, last: 99, total: 100))
        #expect(range("bytes=-1000")?.resolved(total: 100) == ContentRange(first: 0, last: 99, total: 100))
        #expect(range("bytes=50-1000")?.resolved(total: 100) == ContentRange(first: 50, last: 99, total: 100))
        #expect(range("bytes=100-")?.resolved(total: 100) == nil)
        #expect(range("bytes=-0")?.resolved(total: 100) == nil)
        #expect(range("bytes=0-9223372036854775807")?.resolved(total: 0) == nil)
    }

    @Test(arguments: [
        "bytes=0-1,5-6", "bytes=", "bytes=-", "bytes=5-4", "items=0-1", "bytes=a-b", "bytes=1", "bytes=--1", "",
        "bytes=99999999999999999999-",
    ])
    func whatIsNotUnderstoodIsTheServers(_ text: String) { #expect(range(text) == nil) }

    @Test func partsThatTouchAreJoined() {
        let first = ContentRange(first: 0, last: 9, total: 30)!
        #expect(first.joined(with: ContentRange(first: 10, last: 29, total: 30)!)?.isWhole == true)
        #expect(first.joined(with: ContentRange(first: 5, last: 7, total: 30)!) == first)
        #expect(first.joined(with: ContentRange(first: 11, last: 29, total: 30)!) == nil)
        #expect(first.joined(with: ContentRange(first: 10, last: 29, total: 31)!) == nil)
    }

    @Test(arguments: [
        "bytes 0-9/*", "bytes */10", "bytes 5-4/10", "bytes 0-10/10", "items 0-1/2", "bytes 0-1", "0-1/2",
    ])
    func contentRangesThatSayNothingAreRefused(_ text: String) {
        #expect(ContentRange(of: [.contentRange: text]) == nil)
    }

    @Test func octetsOfPartsAreJoinedInOrder() {
        func join(_ a: ContentRange?, _ b: ContentRange?) -> String {
            let text = Array("0123456789".utf8)
            func part(_ range: ContentRange) -> [UInt8] { Array(text[Int(range.first)...Int(range.last)]) }
            return String(decoding: SecureCache.joined(part(a!), a!, part(b!), b!), as: UTF8.self)
        }
        let (low, mid, high) = (
            ContentRange(first: 0, last: 4, total: 10), ContentRange(first: 3, last: 6, total: 10),
            ContentRange(first: 5, last: 9, total: 10)
        )
        #expect(join(low, high) == "0123456789" && join(high, low) == "0123456789")
        #expect(join(low, mid) == "0123456" && join(mid, low) == "0123456")
        #expect(join(mid, ContentRange(first: 0, last: 9, total: 10)) == "0123456789")
        #expect(join(ContentRange(first: 0, last: 9, total: 10), mid) == "0123456789")
    }
}
