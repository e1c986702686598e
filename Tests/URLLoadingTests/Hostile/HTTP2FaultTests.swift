import HTTPTypes
import SallyportCore
import TestSupport
import Testing

@testable import SallyportURLLoading

typealias LoadErrorCode = LoadError.Code

/// HTTP/2 that breaks off, breaks its rules, or floods (RFC 9113 §5.4, §6, §10.5).
@Suite(.timeLimit(.minutes(2))) struct HTTP2FaultTests {
    private let authority: TestAuthority
    private let tls: RawTLS

    init() throws {
        authority = try TestAuthority()
        tls = try RawTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
    }

    private func failure(_ hostile: HTTP2Case, idle: Duration = .seconds(60)) async throws -> LoadError? {
        var ordeal = try Ordeal(trusting: authority)
        ordeal.idleTimeout = idle
        return try await ordeal.failure(hostile.server(tls), scheme: "https")
    }

    private static let goAway = RawFrame(.goAway, stream: 0, RawFrame.number(0) + RawFrame.number(0))
    private static let reset = RawFrame(.reset, RawFrame.number(2))
    /// libcurl 7.88 takes a stream that its server breaks off without an error for whole where no length was said.
    private static let nine = RawFrame.field("content-length", "9")
    private static let data = RawFrame(.data, Array("hello".utf8))

    private static let ends: [HTTP2Case] = [
        HTTP2Case("GOAWAY instead of an answer", .connectionLost, .protocolViolation, sends: goAway),
        HTTP2Case(
            "GOAWAY with an error", .connectionLost, .protocolViolation,
            sends: RawFrame(
                .goAway, stream: 0, RawFrame.number(0) + RawFrame.number(11) + Array("calm down".utf8))),
        HTTP2Case(
            "GOAWAY in the middle, and the end of the connection", .connectionLost, endsConnection: true,
            sends: .head(), data, RawFrame(.goAway, stream: 0, RawFrame.number(1) + RawFrame.number(0))),
        HTTP2Case("RST_STREAM instead of an answer", .connectionLost, sends: reset),
        HTTP2Case("RST_STREAM in the middle", .connectionLost, sends: .head(), data, reset),
        HTTP2Case(
            "RST_STREAM that says no error", .connectionLost, sends: .head(nine), data,
            RawFrame(.reset, RawFrame.number(0))),
        HTTP2Case(
            "RST_STREAM that refuses the stream, each time", .connectionLost,
            sends: RawFrame(.reset, RawFrame.number(7))),
        HTTP2Case("the end of the connection", .connectionLost, endsConnection: true) { _ in },
        HTTP2Case(
            "the end of the connection in the middle", .connectionLost, endsConnection: true, sends: .head(), data),
        HTTP2Case("close_notify in the middle", .connectionLost, endsConnection: true) { client in
            client.write(RawFrame.head().bytes + data.bytes)
            client.end()
        },
        HTTP2Case(
            "the end within a frame", .connectionLost, endsConnection: true, sends: .head(),
            RawFrame(.data, [1, 2], length: 100)),
        HTTP2Case(
            "less than was said", .connectionLost, .protocolViolation,
            sends: .head(nine),
            RawFrame(.data, flags: RawFrame.endStream, Array("hello".utf8))),
    ]

    private static let broken: [HTTP2Case] = [
        HTTP2Case(
            "more than was said", .protocolViolation, .connectionLost,
            sends: .head(RawFrame.field("content-length", "2")),
            RawFrame(.data, flags: RawFrame.endStream, Array("hello".utf8))),
        HTTP2Case("bytes that are no frames", .protocolViolation, .connectionLost) {
            $0.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        },
        HTTP2Case(
            "a frame beyond the longest", .protocolViolation, .connectionLost,
            sends: RawFrame(.data, [UInt8](repeating: 0, count: 20_000))),
        HTTP2Case(
            "a frame of 16 MiB", .protocolViolation, .connectionLost,
            sends: RawFrame(.headers, [0x88], length: 0xff_ffff)),
        HTTP2Case("data before a head", .protocolViolation, .connectionLost, sends: data),
        HTTP2Case(
            "data on stream 0", .protocolViolation, .connectionLost, sends: .head(nine), RawFrame(.data, stream: 0)),
        HTTP2Case(
            "a head on a stream that is not there", .protocolViolation, .connectionLost,
            sends: RawFrame(.headers, flags: RawFrame.endHeaders, stream: 9, [0x88])),
        HTTP2Case(
            "a pushed answer", .idleTimeout, .protocolViolation, .connectionLost,
            sends: RawFrame(.pushPromise, flags: RawFrame.endHeaders, RawFrame.number(2) + [0x82])),
        HTTP2Case(
            "settings of a wrong length", .protocolViolation, .connectionLost,
            sends: RawFrame(.settings, stream: 0, [1, 2, 3])),
        HTTP2Case(
            "settings out of range", .protocolViolation, .connectionLost,
            sends: RawFrame(.settings, stream: 0, [0, 5] + RawFrame.number(1))),
        HTTP2Case(
            "PING of a wrong length", .protocolViolation, .connectionLost,
            sends: RawFrame(.ping, stream: 0, [1])),
        HTTP2Case(
            "a window of more than 2³¹", .protocolViolation, .connectionLost,
            sends: RawFrame(.windowUpdate, stream: 0, RawFrame.number(0x7fff_ffff))),
        HTTP2Case(
            "a window that grows by nothing", .protocolViolation, .connectionLost,
            sends: RawFrame(.windowUpdate, stream: 0, RawFrame.number(0))),
        HTTP2Case(
            "a continuation of nothing", .protocolViolation, .connectionLost,
            sends: RawFrame(.continuation, flags: RawFrame.endHeaders, [0x88])),
        HTTP2Case(
            "padding longer than its frame", .protocolViolation, .connectionLost,
            sends: .head(nine), RawFrame(.data, flags: 8, [200, 1])),
        HTTP2Case(
            "HPACK with an index that is not there", .protocolViolation, .connectionLost,
            sends: RawFrame(.headers, flags: RawFrame.endHeaders, [0xff, 0xff, 0xff, 0xff, 0x7f])),
        HTTP2Case(
            "HPACK that is cut off", .protocolViolation, .connectionLost,
            sends: RawFrame(.headers, flags: RawFrame.endHeaders, [0, 5, 97])),
        HTTP2Case(
            "a head without a status", .protocolViolation, .connectionLost,
            sends: RawFrame(.headers, flags: RawFrame.endHeaders, RawFrame.field("x-a", "b"))),
        HTTP2Case("two statuses", .protocolViolation, .connectionLost, sends: .head([0x88])),
        HTTP2Case(
            "a status that is no number", .protocolViolation, .connectionLost,
            sends: RawFrame(.headers, flags: RawFrame.endHeaders, RawFrame.field(":status", "abc"))),
        HTTP2Case(
            "a field of HTTP/1.1", .protocolViolation, .connectionLost,
            sends: .head(RawFrame.field("transfer-encoding", "chunked"))),
        HTTP2Case(
            "a line break in a value", .protocolViolation, .connectionLost,
            sends: .head(RawFrame.field("x-a", "b\r\nset-cookie: c"))),
        HTTP2Case("NUL in a value", .protocolViolation, .connectionLost, sends: .head(RawFrame.field("x-a", "b\0c"))),
        HTTP2Case(
            "a line break in a name", .protocolViolation, .connectionLost,
            sends: .head(RawFrame.field("x-a\r\nx-b", "c"))),
        HTTP2Case(
            "a name in upper case", .protocolViolation, .connectionLost,
            sends: .head(RawFrame.field("X-A", "b"))),
        HTTP2Case(
            "two lengths", .protocolViolation, .connectionLost,
            sends: .head(RawFrame.field("content-length", "5") + RawFrame.field("content-length", "2")), data),
    ]

    private static let floods: [HTTP2Case] = [
        HTTP2Case("a head beyond its limit", .responseTooLarge, .protocolViolation, .connectionLost) { client in
            client.write(RawFrame.head(flags: 0).bytes)
            let field = RawFrame.field("x-line", String(repeating: "a", count: 4000))
            client.write(RawFrame(.continuation, field), times: 10_000)
        },
        HTTP2Case("a head of many small fields", .responseTooLarge, .idleTimeout, .protocolViolation, .connectionLost) {
            client in
            let fields = (0..<700).flatMap { _ in RawFrame.field("x-line", "0123456789") }
            client.write(RawFrame.head(fields, flags: 0).bytes)
            for _ in 0..<6 { client.write(RawFrame(.continuation, fields).bytes) }
            client.write(RawFrame(.continuation, flags: RawFrame.endHeaders, []).bytes)
        },
        HTTP2Case("continuations without an end", .protocolViolation, .connectionLost) { client in
            client.write(RawFrame.head(flags: 0).bytes)
            client.write(RawFrame(.continuation), times: 1_000_000)
        },
        HTTP2Case("interim heads without an end", .responseTooLarge, .protocolViolation, .connectionLost) { client in
            let interim = RawFrame(.headers, flags: RawFrame.endHeaders, RawFrame.field(":status", "103"))
            client.write(interim, times: 1_000_000)
        },
    ]

    /// What keeps a connection busy and moves no load: the load is idle, and the memory is not taken.
    private static let noise: [HTTP2Case] = [
        HTTP2Case("settings without an end", .idleTimeout, .connectionLost, .protocolViolation) {
            $0.write(RawFrame(.settings, stream: 0), times: 2_000_000)
        },
        HTTP2Case("PING without an end", .idleTimeout, .connectionLost, .protocolViolation) {
            $0.write(RawFrame(.ping, stream: 0, [UInt8](repeating: 0, count: 8)), times: 1_000_000)
        },
        HTTP2Case("empty data without an end", .idleTimeout, .connectionLost, .protocolViolation) {
            $0.write(RawFrame.head().bytes)
            $0.write(RawFrame(.data), times: 1_000_000)
        },
        HTTP2Case("priorities without an end", .idleTimeout, .connectionLost, .protocolViolation) {
            $0.write(RawFrame(.priority, RawFrame.number(0) + [1]), times: 1_000_000)
        },
        HTTP2Case("unknown frames without an end", .idleTimeout, .connectionLost, .protocolViolation) {
            var frame = RawFrame(.data, [UInt8](repeating: 1, count: 64))
            frame.kind = 0xbe
            $0.write(frame, times: 1_000_000)
        },
        HTTP2Case("resets without an end", .idleTimeout, .connectionLost, .protocolViolation) {
            $0.write(RawFrame(.reset, stream: 9, RawFrame.number(8)), times: 1_000_000)
        },
    ]

    @Test(arguments: ends) func anEndInTheMiddleIsALoss(_ hostile: HTTP2Case) async throws {
        let failure = try await failure(hostile)
        #expect(failure.map { hostile.codes.contains($0.code) } == true, "\(String(describing: failure))")
    }

    @Test(arguments: broken) func brokenFramesEndTheLoad(_ hostile: HTTP2Case) async throws {
        let failure = try await failure(hostile, idle: .seconds(3))
        #expect(failure.map { hostile.codes.contains($0.code) } == true, "\(String(describing: failure))")
    }

    @Test(arguments: floods) func aFloodOfHeadersIsCutOff(_ hostile: HTTP2Case) async throws {
        let failure = try await failure(hostile, idle: .seconds(3))
        #expect(failure.map { hostile.codes.contains($0.code) } == true, "\(String(describing: failure))")
    }

    @Test(arguments: noise) func noiseIsIdleness(_ hostile: HTTP2Case) async throws {
        let failure = try await failure(hostile, idle: .seconds(1))
        #expect(failure.map { hostile.codes.contains($0.code) } == true, "\(String(describing: failure))")
    }

    /// One stream that is reset leaves the others of its connection alone.
    @Test func aResetStreamIsOneLoads() async throws {
        let answers = HTTP2Case("a reset, then an answer") { client in
            client.write(Self.reset.bytes)
            guard client.readHeadFrame() else { return }
            client.write(
                RawFrame(.headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: 3, [0x88]).bytes)
        }
        let server = try answers.server(tls)
        let ordeal = try Ordeal(trusting: authority)
        #expect(try await ordeal.failure(server, scheme: "https")?.code == .connectionLost)
        #expect(try await ordeal.failure(server, scheme: "https") == nil)
        #expect(server.acceptedConnections == 1)
    }
}
