import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// What a server of HTTP/2 says that it has not looked at (RFC 9113 §8.7).
@Suite(.timeLimit(.minutes(1))) struct RefusedStreamTests {
    private let authority: TestAuthority
    private let tls: RawTLS

    init() throws {
        authority = try TestAuthority()
        var tls = try RawTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
        tls.applicationProtocol = "h2"
        self.tls = tls
    }

    /// Refuses the first stream, and answers each later one.
    private func server(_ requests: Lock<Int>) throws -> TestServer {
        try TestServer { [tls] connection in
            guard let client = tls.accept(connection), client.readRequest() else { return connection.finish() }
            var stream: UInt32 = 1
            repeat {
                let number = requests.withLock { count in
                    count += 1
                    return count
                }
                if number == 1 {
                    client.write(RawFrame(.reset, stream: stream, RawFrame.number(7)).bytes)
                } else {
                    let ended = RawFrame.endHeaders | RawFrame.endStream
                    client.write(RawFrame(.headers, flags: ended, stream: stream, [0x88]).bytes)
                }
                stream += 2
            } while client.readHeadFrame()
        }
    }

    private var session: SecureSession {
        get throws {
            var configuration = SessionConfiguration()
            configuration.trust = try .only([authority.der])
            return URLLoadingSystem(gate: StubGate()).makeSession(configuration)
        }
    }

    @Test func aGETIsSentAgain() async throws {
        let requests = Lock(0)
        let server = try server(requests)
        let response = try await session.bytes(for: LoadRequest(.get, server.url(scheme: "https")))
        #expect(response.head.status == .ok && response.facts.hops.map(\.retries) == [1])
        #expect(requests.withLock { $0 } == 2)
    }

    /// The connection is a new one, and has not ended.
    @Test func theRecordSaysOnlyThatNoAnswerHadBegun() async throws {
        let server = try server(Lock(0))
        var request = LoadRequest(.get, try server.url(scheme: "https"))
        request.options.isRecorded = true
        let record = try await session.data(for: request).record
        let retries = record?.decisions.filter { $0.kind == .retry } ?? []
        #expect(retries.map(\.reason) == ["no answer had begun"])
    }

    /// The standard would allow it; libcurl does not say why it wants to send again.
    @Test func aPOSTIsNot() async throws {
        let requests = Lock(0)
        let server = try server(requests)
        let request = LoadRequest(.post, try server.url(scheme: "https"), body: .text("paid"))
        await #expect(throws: LoadError(.connectionLost, "")) { _ = try await session.bytes(for: request) }
        #expect(requests.withLock { $0 } == 1)
    }
}
