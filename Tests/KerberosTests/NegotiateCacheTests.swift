import SallyportBase
import SallyportCache
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import SallyportWire
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportKerberos

/// What a cache keeps of a server that is not the service. Tickets are of a real KDC.
@Suite(.timeLimit(.minutes(2)))
struct NegotiateCacheTests {
    private static let forged = HostileNegotiateTests.field(
        .answer(SPNEGOAnswer(.completed, mechanism: .kerberos, token: HostileNegotiateTests.forged)))

    private let kdc: TestKDC
    private let store: TestStore
    private let cache: SecureCache
    private let app: KerberosApp

    init() async throws {
        kdc = try await TestKDC.start()
        try await kdc.addUser("ann", password: "secret")
        try await kdc.addService("HTTP/127.0.0.1")
        store = try await TestStore()
        cache = SecureCache(store: store.store, gate: nil)
        app = try KerberosApp([kdc], cache: cache)
    }

    private func load(_ server: TestServer, _ path: String = "") async throws -> Int {
        try await app.load("http://127.0.0.1:\(server.port)/\(path)", .ann()).status
    }

    /// If it were stored, the next load would take it for the service's.
    @Test(arguments: ["", forged]) func anAnswerWithoutTheServicesProofIsNotStored(_ field: String) async throws {
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                let isAsking = !head.lowercased().contains("\r\nauthorization:")
                connection.write(
                    isAsking
                        ? "HTTP/1.1 401 U\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\n\(field)Cache-Control: max-age=600\r\nContent-Length: 0\r\n\r\n")
            }
        }
        for _ in 0..<2 {
            await #expect(throws: LoadError(.serverNotAuthenticated, "")) { try await load(server) }
            await cache.settle()
            #expect(cache.statistics.entries == 0)
        }
        await app.loading.shutdown()
    }

    /// After the first load the credential is known, and a token goes ahead with each request. A confirmation may leave it
    /// unanswered, but one with a wrong answer is an error, and renews nothing.
    @Test(arguments: ["", forged]) func aConfirmationMayLackATokenButNotHaveAWrongOne(_ field: String) async throws {
        let confirmations = Lock(0)
        let server = try TestServer { connection in
            while let head = connection.readHead()?.lowercased() {
                let isAsking = !head.contains("\r\nauthorization:")
                let isConfirming = head.contains("\r\nif-none-match: \"1\"")
                if isConfirming, !isAsking { confirmations.withLock { $0 += 1 } }
                let answer =
                    head.hasPrefix("get /known ")
                    ? isAsking
                        ? "401 U\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0" : "404 N\r\nContent-Length: 0"
                    : isConfirming
                        ? "304 Not Modified\r\n\(field)ETag: \"1\"\r\nCache-Control: max-age=600"
                        : "200 OK\r\nETag: \"1\"\r\nCache-Control: no-cache\r\nContent-Length: 0"
                connection.write("HTTP/1.1 \(answer)\r\n\r\n")
            }
        }
        #expect(try await load(server, "known") == 404)
        #expect(try await load(server) == 200)
        await cache.settle()
        #expect(cache.statistics.entries == 1)
        for count in 1...2 {
            if field.isEmpty {
                #expect(try await load(server) == 200)
            } else {
                await #expect(throws: LoadError(.serverNotAuthenticated, "")) { try await load(server) }
            }
            await cache.settle()
            #expect(confirmations.withLock { $0 } == (field.isEmpty ? 1 : count))
        }
        await app.loading.shutdown()
    }
}
