import Testing

@testable import SallyportTransport

/// How the bytes behind a head of HTTP/1.1 are divided, however they are cut into reads.
struct BodyReaderTests {
    private typealias Piece = BodyReader.Piece

    /// What a reader makes of bytes that come in pieces of `size`.
    private struct Reading: Equatable {
        var trailers: [String] = []
        var body = ""
        var end: Piece = .more
        /// Bytes behind the response.
        var rest = ""
    }

    private func read(
        _ text: String, _ length: BodyReader.Length, inPiecesOf size: Int, lineLimit: Int = 1000, isEnded: Bool = false
    ) -> Reading {
        var reader = BodyReader(length, lineLimit: lineLimit)
        var reading = Reading()
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        repeat {
            bytes += rest.prefix(size)
            rest = rest.dropFirst(size)
            let count = unsafe bytes.withUnsafeBytes { unsafe take($0, &reader, &reading) }
            bytes.removeFirst(count)
        } while !rest.isEmpty && reading.end == .more
        if isEnded, reading.end == .more, reader.connectionEnded() { reading.end = .end }
        reading.rest = String(decoding: bytes + rest, as: UTF8.self)
        return reading
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ reader: inout BodyReader, _ reading: inout Reading) -> Int {
        var position = 0
        while true {
            let piece = unsafe reader.next(in: bytes, at: &position)
            switch piece {
            case .trailer(let range): unsafe reading.trailers.append(String(decoding: bytes[range], as: UTF8.self))
            case .body(let range): unsafe reading.body += String(decoding: bytes[range], as: UTF8.self)
            case .more: return position
            case .end, .malformed:
                reading.end = piece
                return position
            }
        }
    }

    private static let sizes = [1, 2, 3, 5, 7, 1000]

    @Test(arguments: sizes)
    func bodyOfALengthEndsWithItsLastByte(_ size: Int) {
        let reading = read("hello!", .bytes(5), inPiecesOf: size)
        #expect(reading.body == "hello" && reading.end == .end && reading.rest == "!")
    }

    @Test
    func responseWithoutABodyEndsWithItsHead() {
        #expect(read("", .none, inPiecesOf: 1).end == .end)
        #expect(read("", .bytes(0), inPiecesOf: 1).end == .end)
    }

    @Test(arguments: sizes)
    func bodyUntilTheEndOfTheConnectionIsWholeThen(_ size: Int) {
        let reading = read("hello", .untilClose, inPiecesOf: size, isEnded: true)
        #expect(reading.body == "hello" && reading.end == .end)
    }

    @Test(arguments: [BodyReader.Length.bytes(6), .chunked])
    func bodyThatTheConnectionCutsOffIsNotWhole(_ length: BodyReader.Length) {
        #expect(read("5\r\nhe", length, inPiecesOf: 1000, isEnded: true).end == .more)
    }

    @Test(arguments: sizes)
    func chunksAreJoined(_ size: Int) {
        let text = "5\r\nhello\r\nA ;x=\"1\"\r\n, world!!!\r\n0;last\r\nT: 1\r\n\r\nmore"
        let reading = read(text, .chunked, inPiecesOf: size)
        #expect(reading.body == "hello, world!!!")
        #expect(reading.trailers == ["T: 1\r\n", "\r\n"])
        #expect(reading.end == .end && reading.rest == "more")
    }

    /// What follows is as it should be: nothing else is refused.
    @Test(
        arguments: [
            "\r\n", "x\r\n", "-1\r\n", "+1\r\n", " 1\r\n", "0x1\r\n", "1\n", "1\r", "1\rx", "1;a\n", "1;a\rb\r\n",
            "5,\r\n",
            "12345678123456781\r\n", "8000000000000000\r\n", "1\r\nab\r\n", "3\r\nabcX\r\n",
            "1\r\na\n", "1\r\na\rb", "1\r\na1\r\n",
        ], [1, 1000])
    func invalidChunkFramingIsRefused(_ text: String, _ size: Int) {
        let reading = read(text + "0\r\n\r\n", .chunked, inPiecesOf: size)
        #expect(reading.end == .malformed, "\(text.debugDescription)")
    }

    @Test(arguments: ["7fffffffffffffff", "000000000000000f", "F", "f"])
    func sizeHasUpToSixteenDigits(_ digits: String) {
        let reading = read(digits + "\r\nabc", .chunked, inPiecesOf: 1000)
        #expect(reading.body == "abc" && reading.end == .more)
    }

    @Test(arguments: [1, 1000])
    func trailerWithoutAnEndIsCutOff(_ size: Int) {
        let endless = "0\r\n" + String(repeating: "a", count: 200)
        #expect(read(endless, .chunked, inPiecesOf: size, lineLimit: 100).end == .malformed)
    }

    @Test
    func chunkThatIsAllBodyIsTakenWhole() {
        var reader = BodyReader(.bytes(10), lineLimit: 10)
        func takes(_ count: Int) -> Bool { reader.takesAsBody(count) }
        #expect(takes(4) && !reader.isWhole)
        #expect(!takes(7))
        #expect(takes(6) && reader.isWhole)
        reader = BodyReader(.untilClose, lineLimit: 10)
        #expect(takes(1 << 40) && !reader.isWhole)
        reader = BodyReader(.chunked, lineLimit: 10)
        #expect(!takes(1))
    }
}
