import HTTPTypes
import SallyportBase
import SallyportCore
import Testing

@testable import SallyportTransport

/// How an answer is read from a stream, however its bytes are cut.
struct StreamAnswerTests {
    private struct Reading: Equatable {
        var body = ""
        var failure: LoadError?
        var isWhole = false
        var keepsStream = false
        var trailers: String?
    }

    private func read(
        _ text: String, inPiecesOf size: Int, to method: HTTPRequest.Method = .get, isEnded: Bool = false
    ) throws -> Reading {
        var request = try ExchangeRequest(method, RequestURL("http://a.example/"))
        request.headerLimit = .bytes(200)
        var answer = StreamAnswer(to: request, after: FieldList(remembers: true))
        var reading = Reading()
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty, reading.failure == nil {
            let content = answer.take(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
            reading.body += String(decoding: content.body, as: UTF8.self)
            reading.failure = content.failure
        }
        reading.isWhole = isEnded ? answer.streamEnded() : answer.isWhole
        reading.keepsStream = answer.keepsStream
        reading.trailers = answer.head.trailerFields.map { $0.map { "\($0.name)=\($0.value)" }.joined() }
        return reading
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
    private static let sizes = [1, 2, 3, 7, 1000]

    @Test(arguments: sizes) func anAnswerOfALengthLetsAnotherFollow(_ size: Int) throws {
        let reading = try read(
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\(Self.ok)Content-Length: 5\r\n\r\nhello",
            inPiecesOf: size)
        #expect(reading == Reading(body: "hello", isWhole: true, keepsStream: true))
    }

    @Test(arguments: sizes) func chunksEndWithTheirTrailers(_ size: Int) throws {
        let reading = try read(Self.chunked + "5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\n", inPiecesOf: size)
        #expect(reading == Reading(body: "hello!", isWhole: true, keepsStream: true, trailers: "T=1"))
    }

    @Test(arguments: sizes) func bytesBehindAnAnswerEndTheStream(_ size: Int) throws {
        for text in ["\(Self.ok)Content-Length: 5\r\n\r\nhello", Self.chunked + "5\r\nhello\r\n0\r\n\r\n"] {
            let reading = try read(text + "HTTP", inPiecesOf: size)
            #expect(reading == Reading(body: "hello", isWhole: true))
        }
    }

    @Test(arguments: sizes) func aBodyWithoutALengthEndsWithTheStream(_ size: Int) throws {
        let text = Self.ok + "\r\nhello"
        #expect(try read(text, inPiecesOf: size) == Reading(body: "hello"))
        #expect(try read(text, inPiecesOf: size, isEnded: true) == Reading(body: "hello", isWhole: true))
    }

    @Test(arguments: sizes) func anEndBeforeTheEndIsNone(_ size: Int) throws {
        for text in [Self.ok, "\(Self.ok)Content-Length: 6\r\n\r\nhello", Self.chunked + "5\r\nhello\r\n0\r\n"] {
            #expect(try !read(text, inPiecesOf: size, isEnded: true).isWhole, "\(text)")
        }
    }

    @Test(arguments: sizes) func headsWithoutABodyAreAnswers(_ size: Int) throws {
        let fields = "Content-Length: 5\r\n\r\n"
        let whole = Reading(isWhole: true, keepsStream: true)
        #expect(try read(Self.ok + fields, inPiecesOf: size, to: .head) == whole)
        #expect(try read("HTTP/1.1 304 Not Modified\r\n\(fields)", inPiecesOf: size) == whole)
        #expect(try read("HTTP/1.1 204 No Content\r\n\r\n", inPiecesOf: size) == whole)
    }

    @Test(arguments: sizes) func aServerMayKeepTheStreamOrNot(_ size: Int) throws {
        let body = "Content-Length: 1\r\n\r\nx"
        #expect(try !read("\(Self.ok)Connection: close\r\n\(body)", inPiecesOf: size).keepsStream)
        #expect(try !read("HTTP/1.0 200 OK\r\n\(body)", inPiecesOf: size).keepsStream)
        #expect(try read("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\(body)", inPiecesOf: size).keepsStream)
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH", "\(ok)X\r\n\r\n", "\(ok)X : y\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 101 Go\r\n\r\n",
        "\(ok)Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "\(chunked)x\r\n",
        "\(chunked)0\r\nX : y\r\n\r\n",
    ])
    func whatIsNotHTTPIsRefused(_ text: String) throws {
        for size in Self.sizes {
            #expect(try read(text, inPiecesOf: size).failure?.code == .protocolViolation)
        }
    }

    @Test(arguments: sizes) func theLimitIsForHeadAndTrailers(_ size: Int) throws {
        let length = 200 - "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nX: \r\n\r\n".utf8.count
        for (count, code) in [(length, nil), (length + 1, LoadError.Code.responseTooLarge)] {
            let line = "X: \(String(repeating: "y", count: count))\r\n"
            let head = "\(Self.ok)Transfer-Encoding: chunked\r\n\(line)\r\n0\r\n\r\n"
            #expect(try read(head, inPiecesOf: size).failure?.code == (count == length ? nil : code))
            #expect(try read("\(Self.chunked)0\r\n\(line)\r\n", inPiecesOf: size).failure?.code == code)
        }
    }

    /// A line that grows, or an extension of a chunk, is none: the idle time-out ends it.
    @Test func onlyWholeLinesAndBytesOfTheBodyAreProgress() throws {
        let request = try ExchangeRequest(.get, RequestURL("http://a.example/"))
        var answer = StreamAnswer(to: request, after: FieldList(remembers: true))
        for (text, isProgress) in [
            ("HTTP/1.1 2", false), ("00 OK\r\nTransfer-Encoding: chunked\r\n", true), ("\r\n", true), ("5;", false),
            ("aaaa", false), ("\r\nh", true), ("ello", true), ("\r\n0\r\n", false), ("T:", false), ("1\r\n", true),
        ] {
            #expect(answer.take(Array(text.utf8)).isProgress == isProgress, "\(text)")
        }
    }
}
