import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportURLLoading

/// Bodies whose length is a lie, and chunks that are none (RFC 9112 §6 and §7).
@Suite(.timeLimit(.minutes(2)), .onEveryCarrier) struct HostileBodyTests {
    private static func answer(_ fields: String, _ body: String) -> String {
        "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(body)"
    }

    private static func length(_ name: String, _ code: LoadError.Code, _ fields: String) -> HostileCase {
        HostileCase(name, code, sends: answer(fields, "hello"))
    }

    private static let lengths: [HostileCase] = [
        length("a length that is too long", .connectionLost, "Content-Length: 6"),
        length("a negative length", .protocolViolation, "Content-Length: -5"),
        length("a length with a sign", .protocolViolation, "Content-Length: +5"),
        length("a length that is no number", .protocolViolation, "Content-Length: five"),
        length("a hexadecimal length", .protocolViolation, "Content-Length: 0x5"),
        length("a length that is partly a number", .protocolViolation, "Content-Length: 5 5"),
        length("an empty length", .protocolViolation, "Content-Length:"),
        length("a length beyond all numbers", .protocolViolation, "Content-Length: 18446744073709551621"),
        length("two lengths", .protocolViolation, "Content-Length: 5\r\nContent-Length: 2"),
        length("two lengths in one line", .protocolViolation, "Content-Length: 5, 2"),
        length("a length and a coding", .protocolViolation, "Content-Length: 5\r\nTransfer-Encoding: chunked"),
        // Otherwise it is valid: a reader that follows the coding reads all of it.
        HostileCase(
            "a coding and a length", .protocolViolation,
            sends: answer("Transfer-Encoding: chunked\r\nContent-Length: 15", "5\r\nhello\r\n0\r\n\r\n")),
        length("two codings", .protocolViolation, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        length("a coding that nobody asked for", .protocolViolation, "Transfer-Encoding: gzip, chunked"),
        length("an unknown coding", .protocolViolation, "Transfer-Encoding: xchunked"),
        length("a length that never comes", .connectionLost, "Content-Length: 9999999999"),
    ]

    private static func chunks(_ name: String, _ code: LoadError.Code, _ body: String) -> HostileCase {
        HostileCase(name, code, sends: answer("Transfer-Encoding: chunked", body))
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    private static let sizes: [HostileCase] = [
        chunks("a size that is no number", .protocolViolation, "zz\r\n"),
        chunks("an empty size", .protocolViolation, "\r\n"),
        chunks("a negative size", .protocolViolation, "-5\r\nhello\r\n0\r\n\r\n"),
        chunks("a size beyond all numbers", .protocolViolation, "ffffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
        chunks("a size with a sign", .protocolViolation, "+5\r\nhello\r\n0\r\n\r\n"),
        chunks("no line break after a chunk", .protocolViolation, "5\r\nhelloworld\r\n0\r\n\r\n"),
        chunks("a chunk that is too short", .protocolViolation, "5\r\nhel\r\n0\r\n\r\n"),
        chunks("a close within a chunk", .connectionLost, "5\r\nhel"),
        chunks("a close before the last chunk", .connectionLost, "5\r\nhello\r\n"),
        chunks("a huge chunk that never comes", .connectionLost, "7fffffffffffff\r\nhello"),
        HostileCase("digits without an end", .protocolViolation) {
            $0.write(chunked)
            $0.writeEndlessly("0")
        },
        HostileCase("trailers without an end", .responseTooLarge) {
            $0.write(chunked + "5\r\nhello\r\n0\r\n")
            $0.writeEndlessly("X-Trailer: 0123456789\r\n")
        },
        HostileCase("a trailer line without an end", .protocolViolation) {
            $0.write(chunked + "5\r\nhello\r\n0\r\nX-Trailer: ")
            $0.writeEndlessly("a")
        },
        HostileCase("chunks without an end", .responseTooLarge) {
            $0.write(chunked)
            $0.writeEndlessly("5\r\nhello\r\n")
        },
    ]

    @Test(arguments: lengths) func aLengthThatIsWrongEndsTheLoad(_ hostile: HostileCase) async throws {
        try await hostile.isMet()
    }

    @Test(arguments: sizes) func chunksThatAreWrongEndTheLoad(_ hostile: HostileCase) async throws {
        try await hostile.isMet()
    }

    /// libcurl reads over an extension, however long; nothing of it comes through, so the idle time-out ends the load.
    @Test func anExtensionWithoutAnEndIsIdleness() async throws {
        let hostile = HostileCase("an extension without an end", .idleTimeout) { connection in
            connection.write(Self.chunked + "5;x=")
            connection.trickle("aaaaaaaa", every: .milliseconds(20))
        }
        var ordeal = try Ordeal()
        ordeal.idleTimeout = .seconds(2)
        try await hostile.isMet(ordeal)
    }

    /// The same length said several times is one length (RFC 9110 §8.6).
    @Test(arguments: ["Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5, 5", "content-length:5"])
    func aLengthThatIsRepeatedIsTaken(_ fields: String) async throws {
        let server = try TestServer { $0.answerAll(Self.answer(fields, "hello")) }
        #expect(try await Ordeal().load(server).body == Array("hello".utf8))
    }

    /// What follows an answer is not the next answer.
    @Test(arguments: [Duration.zero, .milliseconds(100)])
    func aSecondAnswerIsNotTakenForTheNext(_ delay: Duration) async throws {
        let answer = Self.answer("Content-Length: 2", "ok")
        let planted = Self.answer("Content-Length: 4", "evil")
        let count = Lock(0)
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                if delay == .zero {
                    connection.write(answer + planted)
                } else {
                    connection.write(answer)
                    connection.pause(delay)
                    connection.write(planted)
                }
                count.withLock { $0 += 1 }
            }
        }
        let ordeal = try Ordeal()
        for number in 1...3 {
            #expect(try await ordeal.load(server).body == Array("ok".utf8))
            // A client cannot tell stray bytes that come during the next request from the answer to that request.
            #expect(try await eventually { count.withLock { $0 } == number })
            // Our engine watches idle connections; libcurl looks when it takes one.
            _ = try await eventually(within: .seconds(2)) { server.openConnections == 0 }
        }
    }
}
