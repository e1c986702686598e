import HTTPTypes
import SallyportCore
import SallyportLoading
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportURLLoading

/// Heads that are endless, broken, or mean two things at once (RFC 9112 §2.2, §4, §5).
@Suite(.timeLimit(.minutes(2)), .onEveryCarrier) struct HostileHeadTests {
    private static let fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"

    private static let sizes: [HostileCase] = [
        HostileCase("endless header lines", .responseTooLarge) {
            $0.write(fine)
            $0.writeEndlessly("X-Line: 0123456789\r\n")
        },
        HostileCase("a header line of 10 MB", .responseTooLarge) {
            $0.write(fine + "X-Long: ")
            $0.write([UInt8](repeating: 97, count: 10_000_000))
            $0.write("\r\n\r\nok")
        },
        HostileCase("a header line without an end", .responseTooLarge) {
            $0.write(fine + "X-Long: ")
            $0.writeEndlessly("a")
        },
        HostileCase("a field name without an end", .responseTooLarge) {
            $0.write(fine)
            $0.writeEndlessly("a")
        },
        HostileCase("a status line without an end", .responseTooLarge) {
            $0.write("HTTP/1.1 200 ")
            $0.writeEndlessly("O")
        },
        HostileCase("a folded value without an end", .responseTooLarge) {
            $0.write(fine + "X-Long: a\r\n")
            $0.writeEndlessly(" a\r\n")
        },
        HostileCase("endless 100 Continue", .responseTooLarge) { $0.writeEndlessly("HTTP/1.1 100 Continue\r\n\r\n") },
        HostileCase("endless early hints", .responseTooLarge) {
            $0.writeEndlessly("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        },
    ]

    private static let lines: [HostileCase] = [
        HostileCase("not HTTP", .protocolViolation, sends: "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        HostileCase("bytes that are no text", .protocolViolation) {
            $0.write([0, 255, 1, 254, 13, 10, 13, 10])
        },
        HostileCase("HTTP/0.9", .protocolViolation, sends: "<html>hello</html>"),
        HostileCase("an unknown version", .protocolViolation, sends: "HTTP/9.9 200 OK\r\n\r\n"),
        HostileCase("a status that is no number", .protocolViolation, sends: "HTTP/1.1 abc\r\n\r\n"),
        HostileCase("a status of two digits", .protocolViolation, sends: "HTTP/1.1 20\r\nContent-Length: 0\r\n\r\n"),
        HostileCase("101 that nobody asked for", .protocolViolation, sends: "HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\n"),
        HostileCase("a second status line", .protocolViolation, sends: fine + "HTTP/1.1 302 Found\r\n\r\nok"),
        HostileCase("a line without a colon", .protocolViolation, sends: fine + "X-Line\r\n\r\nok"),
        HostileCase("a line without a name", .protocolViolation, sends: fine + ": x\r\n\r\nok"),
        HostileCase("white space before the colon", .protocolViolation, sends: fine + "X-Line : x\r\n\r\nok"),
        HostileCase("a name that is no token", .protocolViolation, sends: fine + "X(Line): x\r\n\r\nok"),
        HostileCase("a carriage return in a value", .protocolViolation, sends: fine + "X: a\rSet-Cookie: b\r\n\r\nok"),
        HostileCase("NUL in a value", .protocolViolation, sends: fine + "X: a\0b\r\n\r\nok"),
        HostileCase("NUL in a name", .protocolViolation, sends: fine + "X\0: b\r\n\r\nok"),
        HostileCase("a folded first line", .protocolViolation, sends: "HTTP/1.1 200 OK\r\n X: a\r\n\r\nok"),
        HostileCase("a folded length", .protocolViolation, sends: fine + " 3\r\n\r\nok"),
        HostileCase("a close within the status line", .connectionLost, sends: "HTTP/1.1 2"),
        HostileCase("a close within the head", .connectionLost, sends: fine + "X-Li"),
        HostileCase("a close after an interim head", .connectionLost, sends: "HTTP/1.1 100 Continue\r\n\r\n"),
        HostileCase("a close without an answer", .connectionLost, sends: ""),
    ]

    @Test(arguments: sizes) func endlessHeadsAreCutOff(_ hostile: HostileCase) async throws {
        try await hostile.isMet()
    }

    @Test(arguments: lines) func bytesThatAreNotHTTPAreRefused(_ hostile: HostileCase) async throws {
        try await hostile.isMet()
    }

    @Test func aResetIsALoss() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.reset()
        }
        let failure = try await Ordeal().failure(server)
        #expect(failure?.code == .connectionLost, "\(String(describing: failure))")
    }

    /// RFC 9112 §5.2: what is folded is one value, not another field.
    @Test func aFoldedLineMakesNoField() async throws {
        let server = try TestServer {
            $0.answerAll("HTTP/1.1 200 OK\r\nX-A: one\r\n Set-Cookie: two\r\n\tthree\r\nContent-Length: 2\r\n\r\nok")
        }
        let answer = try await Ordeal().load(server)
        #expect(answer.head.headerFields[.setCookie] == nil)
        let value = answer.head.headerFields[.custom("X-A")] ?? ""
        #expect(value.split(separator: " ").map(String.init) == ["one", "Set-Cookie:", "two", "\tthree"])
    }

    /// libcurl before 8.1.0 would add it to the last field of the answer before, whose memory it has freed.
    @Test func aFoldedFirstLineIsNoPartOfTheAnswerBefore() async throws {
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                let fold = head.hasPrefix("GET /folded") ? " folded" : "X: y"
                connection.write("HTTP/1.1 200 OK\r\n\(fold)\r\nContent-Length: 2\r\nX-Last: z\r\n\r\nok")
            }
        }
        let ordeal = try Ordeal()
        for _ in 0..<20 {
            #expect(try await ordeal.load(server).body == Array("ok".utf8))
            #expect(try await ordeal.failure(server, "/folded")?.code == .protocolViolation)
        }
    }

    /// The limit is 64 KiB: what stays below is taken.
    @Test func aLongHeadWithinItsLimitIsTaken() async throws {
        let value = String(repeating: "a", count: 60_000)
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nX-A: \(value)\r\nContent-Length: 2\r\n\r\nok") }
        let answer = try await Ordeal().load(server)
        #expect(answer.head.headerFields[.custom("X-A")] == value)
    }
}
