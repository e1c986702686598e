import HTTPTypes
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportKerberos

/// Negotiate with a real Squid, which asks before it forwards `http` and before it opens a tunnel.
@Suite(.timeLimit(.minutes(2)))
struct NegotiateProxyTests {
    /// A realm, a proxy of it, and an origin that takes note of what it gets.
    private struct Site {
        let kdc: TestKDC
        let squid: Squid
        let origin: RecordingOrigin
        let authority: TestAuthority

        init(isSecure: Bool) async throws {
            authority = try TestAuthority()
            kdc = try await TestKDC.start()
            try await kdc.addUser("ann", password: "secret")
            squid = try await Squid.start(
                authority.server(), asking: .negotiate(keytab: kdc.addService("HTTP/localhost"), of: kdc))
            let tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
            origin = try RecordingOrigin(with: isSecure ? tls : nil)
        }

        func session(_ app: KerberosApp, _ credential: Credential?) throws -> SecureSession {
            var configuration = SessionConfiguration()
            configuration.proxies = try .all(Proxy("http://localhost:\(squid.port)", credential: credential))
            configuration.trust = .only([try authority.der])
            return app.loading.makeSession(configuration)
        }
    }

    @Test(arguments: ["http", "https"])
    func aTicketOpensTheProxyAndTheOriginHearsNothingOfIt(_ scheme: String) async throws {
        let site = try await Site(isSecure: scheme == "https")
        let app = try KerberosApp([site.kdc])
        let session = try site.session(app, .ann())
        for number in 1...3 {
            let body = try await session.data(for: .init(.get, site.origin.url("/\(number)", scheme: scheme))).body
            #expect(body == Array("ok".utf8))
        }
        let isAskedOnce = try await eventually { site.squid.log.filter { $0.hasPrefix("407") }.count == 1 }
        #expect(isAskedOnce, "\(site.squid.log)")
        let heads = site.origin.heads
        #expect(heads.count == 3 && heads.allSatisfy { !$0.lowercased().contains("authorization") })
        #expect(site.kdc.count("AS_REQ") == 1 && site.kdc.count("TGS_REQ") == 1)
        // Each request has a token of its own, and yet they share the tunnel.
        if scheme == "https" { #expect(site.origin.acceptedConnections == 1) }
        await app.loading.shutdown()
        // A tunnel's line comes with its end.
        #expect(
            try await eventually { site.squid.log.contains { $0.hasSuffix(" ann@EXAMPLE.TEST") } },
            "\(site.squid.log)")
    }

    @Test(arguments: ["http", "https"])
    func aWrongPasswordOpensNothing(_ scheme: String) async throws {
        let site = try await Site(isSecure: scheme == "https")
        let app = try KerberosApp([site.kdc])
        let session = try site.session(app, .ann("wrong"))
        let request = LoadRequest(.get, try site.origin.url(scheme: scheme))
        if scheme == "http" {
            #expect(try await session.data(for: request).head.status == .proxyAuthenticationRequired)
        } else {
            await #expect(throws: LoadError(.proxyAuthenticationRequired, "")) { try await session.data(for: request) }
        }
        #expect(site.origin.heads.isEmpty)
        await app.loading.shutdown()
    }
}
