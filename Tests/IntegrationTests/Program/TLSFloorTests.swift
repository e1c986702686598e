import Foundation
import SallyportCore
import TestSupport
import Testing

/// A server that speaks no version of TLS that the administrator allows: the failure names the floor, and the version
/// that the server chose if it has chosen one.
@Suite(.timeLimit(.minutes(2))) struct TLSFloorTests {
    /// A server that is listed by its address, for `fetch` through the relay.
    private func failure(at server: TestServer, _ restrictions: [[String]]) async throws -> Outcome {
        let site = try await Site.start()
        try await site.admin("server", "add", "127.0.0.1:\(server.port)")
        for words in restrictions {
            let outcome = try await site.tryAdmin(["tls"] + words)
            try #require(outcome.status == 0, "\(outcome.error)")
        }
        let store = try await site.activatedStore()
        return try await site.fetch("https://127.0.0.1:\(server.port)/", store)
    }

    /// Answers the first message as an old server does, which knows no `supported_versions`: by its own version.
    private func oldServer(choosing version: [UInt8]) throws -> TestServer {
        try TestServer { connection in
            _ = connection.read()
            let hello: [UInt8] =
                [2, 0, 0, 38] + version + [UInt8](repeating: 7, count: 32) + [0, 0xc0, 0x13, 0]
            connection.write([0x16] + version + [0, UInt8(hello.count)] + hello)
            connection.awaitEnd()
        }
    }

    @Test func aServerBelowTheFloorIsToldWithFloorAndVersions() async throws {
        var tls = try TestTLS(TestAuthority().server(addresses: [.v4(0x7f00_0001)]))
        tls.version = .tls12
        let server = try TestServer { [tls] connection in
            guard let client = tls.accept(connection) else { return connection.finish() }
            client.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let failed = try await failure(at: server, [["floor", "TLS1.3"]])
        #expect(failed.status == 76, "\(failed.error)")
        #expect(failed.error.contains("noCommonTLSVersion"), "\(failed.error)")
        #expect(failed.error.contains("The policy's lowest version is TLS1.3"), "\(failed.error)")
        #expect(failed.error.contains("(TLS1.3)"), "\(failed.error)")
    }

    @Test(arguments: [([3, 2], "TLS1.1"), ([3, 3], "TLS1.2")] as [([UInt8], String)])
    func theVersionThatTheServerChoseIsTold(_ version: [UInt8], _ name: String) async throws {
        let failed = try await failure(at: oldServer(choosing: version), [["floor", "TLS1.3"]])
        #expect(failed.status == 76, "\(failed.error)")
        #expect(failed.error.contains("chose \(name); offered was TLS1.3"), "\(failed.error)")
        #expect(failed.error.contains("The policy's lowest version is TLS1.3"), "\(failed.error)")
    }

    @Test func blockedVersionsAreToldToo() async throws {
        let failed = try await failure(at: oldServer(choosing: [3, 3]), [["block", "TLS1.2"]])
        #expect(failed.status == 76 && failed.error.contains("The policy blocks TLS1.2"), "\(failed.error)")
    }

    @Test func aPolicyThatLeavesNoVersionSaysWhy() async throws {
        let failed = try await failure(at: oldServer(choosing: [3, 3]), [["block", "TLS1.2"], ["block", "TLS1.3"]])
        #expect(failed.status == 76, "\(failed.error)")
        #expect(failed.error.contains("The policy blocks TLS1.2 and TLS1.3"), "\(failed.error)")
        #expect(failed.error.contains("sallyport explain"), "\(failed.error)")
    }

    @Test func withoutARestrictionNoPolicyIsBlamed() async throws {
        let failed = try await failure(at: oldServer(choosing: [3, 2]), [])
        #expect(failed.status == 76 && failed.error.contains("chose TLS1.1"), "\(failed.error)")
        #expect(!failed.error.contains("policy"), "\(failed.error)")
    }
}
