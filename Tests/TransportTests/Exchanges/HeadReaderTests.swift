import HTTPTypes
import SallyportBase
import SallyportCore
import Testing

@testable import SallyportTransport

/// How the heads of answers are read, however they are cut into reads.
struct HeadReaderTests {
    /// What a reader makes of a text that comes in pieces.
    private struct Reading {
        var reader: HeadReader
        var outcome = HeadReader.Outcome.more
        /// Bytes behind the head.
        var rest = ""

        init(_ text: String, inPiecesOf size: Int = .max, limit: Int = 1000, allowsHTTP2: Bool = true) {
            reader = HeadReader(limit: limit)
            reader.allowsHTTP2 = allowsHTTP2
            var bytes: [UInt8] = []
            var unread = Array(text.utf8)[...]
            while !unread.isEmpty, outcome == .more {
                bytes += unread.prefix(size)
                unread = unread.dropFirst(size)
                var position = 0
                outcome = unsafe bytes.withUnsafeBytes { unsafe reader.read($0, at: &position) }
                bytes.removeFirst(position)
            }
            rest = String(decoding: bytes + unread, as: UTF8.self)
        }

        var fields: [String] { reader.response.headerFields.map { "\($0.name)=\($0.value)" } }
    }

    private static let sizes = [1, 2, 3, 5, 7, 1000]

    @Test func theErrorSaysWhereTheRefusedLineEnds() {
        let reading = Reading("HTTP/1.1 200 OK\r\nnone\r\n\r\n", inPiecesOf: 4)
        #expect(reading.outcome == .malformed && reading.reader.taken == 23)
        let failure = reading.outcome.failure(.kibibytes(1), after: reading.reader.taken)
        #expect(failure?.description.contains("ends with its byte 23 ") == true)
    }

    @Test(arguments: sizes)
    func fieldsAreReadInTheirOrder(_ size: Int) {
        let text = "HTTP/1.1 200 OK\r\nServer: nginx/1.22\r\nX-Own:\t a b \t\r\nserver:\r\nEmpty: \r\n\r\nbody"
        let reading = Reading(text, inPiecesOf: size)
        #expect(reading.outcome == .whole && reading.rest == "body")
        #expect(reading.fields == ["Server=nginx/1.22", "X-Own=a b", "server=", "Empty="])
        #expect(reading.reader.response.status == .ok && reading.reader.framing.minorVersion == 1)
    }

    @Test
    func linesMayEndWithLFAlone() {
        let reading = Reading("HTTP/1.0 404 Not here\nA: b\n\nmore")
        #expect(reading.outcome == .whole && reading.fields == ["A=b"] && reading.rest == "more")
        #expect(reading.reader.response.status.code == 404)
        #expect(reading.reader.response.status.reasonPhrase == "Not here")
    }

    @Test(arguments: sizes)
    func interimAnswersAreNotTheFinalOne(_ size: Int) {
        let text =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
        let reading = Reading(text, inPiecesOf: size)
        #expect(reading.outcome == .whole && reading.reader.framing.status == 204 && reading.fields.isEmpty)
        #expect(reading.reader.mayContinue)
        #expect(reading.reader.earlyHints.map { $0[.init("Link")!] } == ["</a>"])
    }

    @Test
    func changeOfTheProtocolIsTold() {
        #expect(Reading("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n").outcome == .switched)
    }

    @Test
    func versionOfHTTP2IsTakenFromLibcurlOnly() {
        #expect(Reading("HTTP/2 200 \r\na: b\r\n\r\n").outcome == .whole)
        #expect(Reading("HTTP/2 200 \r\na: b\r\n\r\n", allowsHTTP2: false).outcome == .malformed)
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/2 200 \r\n\r\n"
        #expect(Reading(interim, allowsHTTP2: false).outcome == .malformed)
    }

    @Test(
        arguments: [
            "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 099 No", "HTTP/1.1 2x0 OK", "HTTP/1.2 200 OK",
            "HTTP/3 200 OK", "HTTP/1.1  200", "HTTP/1.1\t200", "http/1.1 200 OK", " HTTP/1.1 200 OK", "HTTP/1.1",
            "HTTP/1.1 200 O\rK", "HTTP/1.1 200 O\0K", "",
        ], [1, 1000])
    func invalidStatusLinesAreRefused(_ line: String, _ size: Int) {
        #expect(Reading(line + "\r\n\r\n", inPiecesOf: size).outcome == .malformed, "\(line.debugDescription)")
    }

    @Test(
        arguments: [
            "no colon", ": nothing", "A : b", "A\t: b", "A b: c", "A\u{e9}: b", "A: b\rc", "A: b\0c", "A: b\r",
            "(A): b",
            "Content-Length: 1\r\nContent-Length: 2", "Content-Length: 1, 2", "Content-Length: +1", "Content-Length: ",
            "Content-Length: 0x1", "Content-Length: 99999999999999999999", "Content-Length: 9223372036854775808",
            "Content-Length: 1\r\nTransfer-Encoding: chunked", "transfer-encoding: chunked\r\ncontent-length: 1",
            "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: chunked, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "TRANSFER-ENCODING: chunked, gzip",
            "Content-Length: 1\r\n 2", "Transfer-Encoding: chunked\r\n\t, gzip", " folded: onto the status line",
        ], [1, 1000])
    func ambiguousHeadsAreRefused(_ lines: String, _ size: Int) {
        let reading = Reading("HTTP/1.1 200 OK\r\n" + lines + "\r\n\r\n", inPiecesOf: size)
        #expect(reading.outcome == .malformed, "\(lines.debugDescription)")
    }

    @Test(
        arguments: [
            ("Content-Length: 5", BodyReader.Length.bytes(5)), ("CONTENT-LENGTH:5 , 5", .bytes(5)),
            ("content-length: 9223372036854775807", .bytes(.max)), ("Transfer-Encoding: ChunKed", .chunked),
            ("TRANSFER-encoding:chunked", .chunked), ("X-Content-Length: 5", .untilClose),
        ])
    func lengthIsWhatTheFieldsSay(_ line: String, _ length: BodyReader.Length) {
        let framing = Reading("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n").reader.framing
        #expect(framing.bodyLength(isHead: false) == length)
        #expect(framing.bodyLength(isHead: true) == .none)
    }

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK", true), ("HTTP/1.0 200 OK", false), ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive", true),
            ("HTTP/1.1 200 OK\r\nConnection: x, CLOSE", false), ("HTTP/1.1 200 OK\r\nconnection: closed", true),
            ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked", false),
        ])
    func connectionIsKeptAsTheServerSays(_ lines: String, _ isKept: Bool) {
        #expect(Reading(lines + "\r\n\r\n").reader.framing.keepsConnection == isKept)
    }

    @Test(arguments: sizes)
    func foldedLineContinuesTheValueAboveIt(_ size: Int) {
        let reading = Reading("HTTP/1.1 200 OK\r\nA: b\r\n\tc: d \r\n e\r\nF: g\r\n\r\n", inPiecesOf: size)
        #expect(reading.fields == ["A=b  \tc: d    e", "F=g"])
        #expect(Reading("HTTP/1.1 200 OK\r\nA: b\r\n c \t\r\n \r\n\r\n", inPiecesOf: size).fields == ["A=b   c"])
    }

    /// Bytes that are no UTF-8 are kept.
    @Test
    func valueThatIsNoASCIIIsKeptAsItIs() throws {
        let text = Array("HTTP/1.1 200 OK\r\nA: ".utf8) + [0xe9, 0x01, 0x7f] + Array("\r\n\r\n".utf8)
        var reader = HeadReader(limit: 1000)
        var position = 0
        #expect(unsafe text.withUnsafeBytes { unsafe reader.read($0, at: &position) } == .whole)
        let field = try #require(reader.response.headerFields.first)
        #expect(field.withUnsafeBytesOfValue { Array($0) } == [0xe9, 0x01, 0x7f])
    }

    @Test(arguments: sizes)
    func limitCountsAllLines(_ size: Int) {
        let line = "A: " + String(repeating: "b", count: 20) + "\r\n"
        let head = "HTTP/1.1 200 OK\r\n" + line + line
        #expect(Reading(head, inPiecesOf: size, limit: head.utf8.count).outcome == .more)
        #expect(Reading(head, inPiecesOf: size, limit: head.utf8.count - 1).outcome == .tooLong)
        let interim = "HTTP/1.1 103 Early Hints\r\n" + line + "\r\n"
        #expect(Reading(interim + interim, inPiecesOf: size, limit: 80).outcome == .tooLong)
        #expect(Reading(String(repeating: "a", count: 101), inPiecesOf: size, limit: 100).outcome == .tooLong)
    }

    @Test
    func trailersAreFieldsWithinTheLimit() {
        var reader = Reading("HTTP/1.1 200 OK\r\n\r\n", limit: 90).reader
        func read(_ line: String) -> HeadReader.Outcome {
            unsafe Array(line.utf8).withUnsafeBytes { unsafe reader.readTrailer($0) }
        }
        #expect(!reader.hasTrailers && reader.trailerFields == nil)
        for line in [" c\r\n", "none\r\n", "A : b\r\n", "A: \0\r\n"] { #expect(read(line) == .malformed) }
        for line in ["A: b\r\n", " c\r\n", "\r\n"] { #expect(read(line) == .whole) }
        #expect(reader.trailerFields?.map { "\($0.name)=\($0.value)" } == ["A=b   c"])
        #expect(read(String(repeating: "a", count: 90)) == .tooLong)
    }

    /// Each place in a word, and each length beside it.
    @Test
    func printableASCIIIsToldFromAllElseWhereverItStands() {
        for count in 0..<20 {
            let plain = [UInt8](repeating: 126, count: count)
            #expect(unsafe plain.withUnsafeBytes { unsafe $0.isPlain })
            for place in 0..<count {
                for byte in UInt8.min...UInt8.max {
                    var bytes = [UInt8](repeating: place % 2 == 0 ? 32 : 126, count: count)
                    bytes[place] = byte
                    #expect(unsafe bytes.withUnsafeBytes { unsafe $0.isPlain } == (32..<127 ~= byte))
                }
            }
        }
    }
}
