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
    func unsupportedRangesAreLeftToTheServer(_ text: String) { #expect(range(text) == nil) }

    @Test(arguments: [
        "bytes 0-9/*", "bytes */10", "bytes 5-4/10", "bytes 0-10/10", "items 0-1/2", "bytes 0-1", "0-1/2",
    ])
    func contentRangesThatSayNothingAreRefused(_ text: String) {
        #expect(ContentRange(of: [.contentRange: text]) == nil)
    }
}
