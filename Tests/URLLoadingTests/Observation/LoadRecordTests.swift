import FoundationEssentials
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// The record of loads over real connections on loopback.
@Suite(.timeLimit(.minutes(1)))
struct LoadRecordTests {
    private let loading = URLLoadingSystem(gate: StubGate())

    /// Keeps what it is told.
    private final class Delegate: SessionDelegate {
        let told = Lock<[LoadRecord]>([])

        func session(_ session: SecureSession, loading request: LoadRequest, didFinish record: LoadRecord) {
            told.withLock { $0.append(record) }
        }

        /// The one record, which may come from another thread.
        func record() async throws -> LoadRecord {
            try #require(try await eventually { !told.withLock { $0.isEmpty } })
            try await Task.sleep(for: .milliseconds(20))
            return try #require(told.withLock { $0.count == 1 ? $0[0] : nil })
        }
    }

    private func server(_ answer: String) throws -> TestServer { try TestServer { $0.answerAll(answer) } }

    @Test func aLoadWithoutARecordCostsNothing() async throws {
        let server = try server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let response = try await loading.session.bytes(for: .init(.get, server.url()))
        #expect(response.record == nil && response.recorder == nil)
    }

    @Test func anAnswerHasItsRecord() async throws {
        let server = try server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole")
        var request = LoadRequest(.post, try server.url("/a?planted#planted"), body: .text("body"))
        request.headerFields[.authorization] = "planted"
        request.options.isRecorded = true
        for turn in 0..<2 {
            let response = try await loading.session.bytes(for: request)
            #expect(response.record?.outcome == "loading" && response.record?.status == 200)
            _ = try await response.body.collect(upTo: .bytes(5))
            let record = try #require(response.record)
            #expect(record.outcome == "complete" && record.bodyBytes == 5 && record.error == nil)
            #expect(record.method == "POST" && record.url == "http://127.0.0.1:\(server.port)/a")
            let hop = try #require(record.hops.first)
            #expect(record.hops.count == 1 && hop.status == 200 && hop.route == "direct" && hop.rule == "default")
            #expect(hop.sent.body == 4 && hop.received.body == 5 && hop.sent.head > 0 && hop.received.head > 0)
            #expect(hop.connection.isReused == (turn == 1) && hop.connection.http == "HTTP/1.1")
            #expect(hop.connection.remotePort == Int(server.port) && hop.connection.tls == nil)
            #expect((hop.phases.connect != nil) == (turn == 0) && hop.phases.wait != nil && hop.phases.response != nil)
            let head = try #require(record.head)
            #expect(hop.start <= head && head <= record.duration && record.duration < 60)
            #expect(record.decisions.map(\.kind) == [.route])
            #expect(!record.json.contains("planted"))
        }
    }

    @Test func itIsOneLineOfJSONThatCanBeReadAgain() async throws {
        let server = try server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let delegate = Delegate()
        _ = try await loading.session.data(for: .init(.get, server.url()), delegate: delegate)
        let record = try await delegate.record()
        #expect(!record.json.contains("\n"))
        #expect(try JSONDecoder().decode(LoadRecord.self, from: Data(record.json.utf8)) == record)
        let fields = try JSONDecoder().decode([String: Ignored].self, from: Data(record.json.utf8))
        #expect(
            Set(fields.keys) == [
                "id", "method", "url", "started", "duration", "head", "status", "outcome", "bodyBytes", "hops",
                "decisions",
            ])
    }

    private struct Ignored: Decodable {
        init(from decoder: any Decoder) {}
    }

    @Test func encodedAndDecodedBytesAreCountedSeparately() async throws {
        let body = [UInt8](repeating: 42, count: 10_000)
        let encoded = Deflater.compress(body)
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(encoded.count)\r\n\r\n")
            connection.write(encoded)
            connection.awaitEnd()
        }
        let delegate = Delegate()
        _ = try await loading.session.data(for: .init(.get, server.url()), delegate: delegate)
        let record = try await delegate.record()
        #expect(record.bodyBytes == 10_000 && record.hops.first?.received.body == encoded.count)
    }

    @Test func redirectsAreHopsAndDecisions() async throws {
        let target = try server("HTTP/1.1 204 N\r\n\r\n")
        let url = try target.url("/there?planted")
        let origin = try server("HTTP/1.1 302 F\r\nLocation: \(url)\r\nContent-Length: 0\r\n\r\n")
        let delegate = Delegate()
        _ = try await loading.session.data(for: .init(.get, origin.url("/here")), delegate: delegate)
        let record = try await delegate.record()
        #expect(record.hops.map(\.status) == [302, 204] && record.status == 204)
        #expect(record.decisions.map(\.kind) == [.route, .redirect, .route])
        let redirect = record.decisions[1]
        #expect(redirect.value == "http://127.0.0.1:\(target.port)/there" && redirect.reason == "302")
        #expect(record.hops[0].start <= record.hops[1].start)
        #expect(try #require(record.hops[0].end) <= record.hops[1].start + 0.001)
    }

    @Test func aRefusedConnectionHasItsRecord() async throws {
        let port = try TestServer { _ in }.port
        let delegate = Delegate()
        await #expect(throws: LoadError(.cannotConnect, "")) {
            try await loading.session.data(for: .get("http://127.0.0.1:\(port)/"), delegate: delegate)
        }
        let record = try await delegate.record()
        #expect(record.outcome == "cannotConnect" && record.error?.code == "cannotConnect")
        #expect(record.error?.step == "connect")
        #expect(record.hops.first?.error == record.error && record.status == nil && record.head == nil)
        #expect(record.hops.first?.connection.http == nil)
    }

    @Test func aDeniedLoadHasARecordWithoutHops() async throws {
        let fixture = Fixture(denied: AccessDenied(.notAuthorized))
        let delegate = Delegate()
        await #expect(throws: LoadError(.notAuthorized, "")) {
            try await fixture.loading.session.data(for: .get("http://a.example/"), delegate: delegate)
        }
        let record = try await delegate.record()
        #expect(record.outcome == "notAuthorized" && record.hops.isEmpty)
    }

    @Test func aCancelledLoadHasItsRecord() async throws {
        let (arrivals, continuation) = AsyncStream.makeStream(of: Void.self)
        let server = try TestServer { connection in
            _ = connection.readHead()
            continuation.yield()
            connection.awaitEnd()
        }
        let (delegate, url) = (Delegate(), try server.url())
        let task = Task { try await loading.session.data(for: LoadRequest(.get, url), delegate: delegate) }
        for await _ in arrivals { break }
        task.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await task.value }
        let record = try await delegate.record()
        #expect(record.outcome == "cancelled" && record.hops.first?.error?.code == "cancelled")
    }

    @Test func aBodyThatIsLeftEarlyHasItsRecord() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
            connection.awaitEnd()
        }
        let delegate = Delegate()
        do {
            let response = try await loading.session.bytes(for: .init(.get, server.url()), delegate: delegate)
            for try await _ in response.body { break }
        }
        let record = try await delegate.record()
        #expect(record.outcome == "discarded" && record.bodyBytes == 1 && record.status == 200)
        #expect(record.hops.first?.end != nil && record.hops.first?.received.body == 1)
    }

    @Test func aBodyThatBreaksHasItsRecord() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
        }
        let delegate = Delegate()
        await #expect(throws: LoadError(.connectionLost, "")) {
            try await loading.session.data(for: .init(.get, server.url()), delegate: delegate)
        }
        let record = try await delegate.record()
        #expect(record.outcome == "connectionLost" && record.status == 200 && record.error?.step == "response")
    }

    @Test func bothDelegatesAreToldOnce() async throws {
        let server = try server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let (own, all) = (Delegate(), Delegate())
        let session = loading.makeSession(delegate: all)
        _ = try await session.data(for: .init(.get, server.url()), delegate: own)
        #expect(try await own.record() == all.record())
    }
}
