import Testing

@testable import SallyportTransport

/// How the bytes of HTTP/1.1 responses are divided, however they are cut into reads.
struct ResponseReaderTests {
    private typealias Piece = ResponseReader.Piece

    /// What a reader makes of bytes that come in pieces of `size`.
    private struct Reading: Equatable {
        var lines: [String] = []
        var body = ""
        var end: Piece = .more
        /// Bytes behind the response.
        var rest = ""
    }

    private func read(
        _ text: String, _ length: ResponseReader.BodyLength, inPiecesOf size: Int, lineLimit: Int = 1000,
        isEnded: Bool = false
    ) -> Reading {
        var reader = ResponseReader(lineLimit: lineLimit)
        var reading = Reading()
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty, reading.end == .more {
            bytes += rest.prefix(size)
            rest = rest.dropFirst(size)
            let count = unsafe bytes.withUnsafeBytes { unsafe take($0, &reader, length, &reading) }
            bytes.removeFirst(count)
        }
        if isEnded, reading.end == .more, reader.connectionEnded() { reading.end = .end }
        reading.rest = String(decoding: bytes + rest, as: UTF8.self)
        return reading
    }

    private func take(
        _ bytes: UnsafeRawBufferPointer, _ reader: inout ResponseReader, _ length: ResponseReader.BodyLength,
        _ reading: inout Reading
    ) -> Int {
        var position = 0
        while true {
            let piece = unsafe reader.next(in: bytes, at: &position)
            switch piece {
            case .line(let range):
                let line = unsafe String(decoding: bytes[range], as: UTF8.self)
                reading.lines.append(line)
                if line == "\r\n", reading.lines.count(where: { $0 == "\r\n" }) == 1 { reader.bodyFollows(length) }
            case .body(let range): unsafe reading.body += String(decoding: bytes[range], as: UTF8.self)
            case .more: return position
            case .end, .tooLong, .malformed:
                reading.end = piece
                return position
            }
        }
    }

    private static let sizes = [1, 2, 3, 5, 7, 1000]
    private static let head = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    private static let headLines = ["HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n"]

    @Test(arguments: sizes)
    func bodyOfALengthEndsWithItsLastByte(_ size: Int) {
        let reading = read(Self.head + "hello!", .bytes(5), inPiecesOf: size)
        #expect(reading.lines == Self.headLines)
        #expect(reading.body == "hello" && reading.end == .end && reading.rest == "!")
    }

    @Test(arguments: sizes)
    func responseWithoutABodyEndsWithItsHead(_ size: Int) {
        #expect(read(Self.head, .none, inPiecesOf: size).end == .end)
        #expect(read(Self.head, .bytes(0), inPiecesOf: size).end == .end)
    }

    @Test(arguments: sizes)
    func bodyUntilTheEndOfTheConnectionIsWholeThen(_ size: Int) {
        let reading = read(Self.head + "hello", .untilClose, inPiecesOf: size, isEnded: true)
        #expect(reading.body == "hello" && reading.end == .end)
    }

    @Test(arguments: [ResponseReader.BodyLength.bytes(6), .chunked])
    func bodyThatTheConnectionCutsOffIsNotWhole(_ length: ResponseReader.BodyLength) {
        #expect(read(Self.head + "5\r\nhe", length, inPiecesOf: 1000, isEnded: true).end == .more)
    }

    @Test(arguments: sizes)
    func chunksAreJoined(_ size: Int) {
        let text = "5\r\nhello\r\nA ;x=\"1\"\r\n, world!!!\r\n0;last\r\nT: 1\r\n\r\nmore"
        let reading = read(Self.head + text, .chunked, inPiecesOf: size)
        #expect(reading.body == "hello, world!!!")
        #expect(reading.lines == Self.headLines + ["T: 1\r\n", "\r\n"])
        #expect(reading.end == .end && reading.rest == "more")
    }

    @Test(
        arguments: [
            "\r\n", "x\r\n", "-1\r\n", "+1\r\n", " 1\r\n", "0x1\r\n", "1\n", "1\r", "1\rx", "1;a\n", "1;a\rb\r\n",
            "5,\r\n",
            "12345678123456781\r\n", "8000000000000000\r\n", "1\r\nab\r\n", "1\r\na\n", "1\r\na\rb", "1\r\na1\r\n",
        ], [1, 1000])
    func whatFramesNoChunkIsRefused(_ text: String, _ size: Int) {
        let reading = read(Self.head + text + "\r\n0\r\n\r\n", .chunked, inPiecesOf: size)
        #expect(reading.end == .malformed, "\(text.debugDescription)")
    }

    @Test(arguments: ["7fffffffffffffff", "000000000000000f", "F", "f"])
    func sizeHasUpToSixteenDigits(_ digits: String) {
        let reading = read(Self.head + digits + "\r\nabc", .chunked, inPiecesOf: 1000)
        #expect(reading.body == "abc" && reading.end == .more)
    }

    @Test(arguments: [1, 1000])
    func lineWithoutAnEndIsCutOff(_ size: Int) {
        let endless = String(repeating: "a", count: 200)
        #expect(read(endless, .none, inPiecesOf: size, lineLimit: 100).end == .tooLong)
        let trailers = Self.head + "0\r\n" + endless
        #expect(read(trailers, .chunked, inPiecesOf: size, lineLimit: 100).end == .malformed)
    }

    @Test
    func chunkThatIsAllBodyIsTakenWhole() {
        var reader = ResponseReader(lineLimit: 10)
        func takes(_ count: Int) -> Bool { reader.takesAsBody(count) }
        #expect(!takes(1))
        reader.bodyFollows(.bytes(10))
        #expect(takes(4) && !reader.isWhole)
        #expect(!takes(7))
        #expect(takes(6) && reader.isWhole)
        reader.bodyFollows(.untilClose)
        #expect(takes(1 << 40) && !reader.isWhole)
        reader.bodyFollows(.chunked)
        #expect(!takes(1))
    }
}
