import HTTPTypes
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// A body whose reader is woken for large portions, until its bytes come one at a time.
@Suite(.timeLimit(.minutes(1)))
struct SlowBodyTests {
    private let authority: TestAuthority
    private let tls: TestTLS
    private let transport = Transport(engine: .own)
    private let body = SlowBody()

    init() throws {
        authority = try TestAuthority()
        tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
    }

    private func load(_ scheme: String, from server: TestServer) async throws {
        let path = try ConnectionPath(trust: .only([authority.der]))
        let response = try await transport.exchange(.init(.get, server.url(scheme: scheme)), via: path)
        // What the kernel holds by then is read as fast as can be, however slow this machine is.
        try await body.isHeldUp()
        while let chunk = try await response.body.next() { body.takes(chunk.count) }
    }

    @Test(arguments: ["http", "https"])
    func eachByteArrivesThoughPortionsAreWaitedFor(_ scheme: String) async throws {
        let (body, tls) = (body, tls)
        let server = try TestServer { connection in
            guard scheme == "https" else {
                guard connection.readHead() != nil else { return }
                body.answer(over: connection) { connection.write($0) }
                return connection.awaitEnd()
            }
            guard let client = tls.accept(connection), client.readHead() != nil else { return }
            body.answer(over: connection) { client.write($0) }
            connection.awaitEnd()
        }
        try await load(scheme, from: server)
        #expect(body.count == SlowBody.total)
        #expect(body.lateBytes.isEmpty)
        #expect(body.mostReported > 1 && body.lastReported == 1)
        await transport.shutdown()
    }
}
