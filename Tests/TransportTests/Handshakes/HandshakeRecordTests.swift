import COpenSSL
import SallyportCore
import Testing

@testable import SallyportTransport

/// Which OpenSSL objects a record keeps, since libcurl frees its own at any time, and what it says of the server.
@Suite struct HandshakeRecordTests {
    @Test func theConnectionIsForgottenWhenItIsFreed() throws {
        CurlLibrary.prepare()
        let context = try #require(SSL_CTX_new(TLS_client_method()))
        weak var kept: HandshakeRecord?
        do {
            let record = HandshakeSettings(peer: .server, versions: TLSVersions([.tls13])).apply(to: context)
            kept = record
            let connection = try #require(SSL_new(context))
            SSL_set_bio(connection, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))
            // The ClientHello was written; the server's answer is awaited.
            #expect(SSL_connect(connection) != 1)
            #expect(record.connection == connection)
            SSL_free(connection)
            #expect(record.connection == nil)
        }
        SSL_CTX_free(context)
        #expect(kept == nil)
    }

    /// The records have seen no chain, as in a resumed TLS session: whether the app overruled the verification at its
    /// beginning is not known.
    @Test func withoutAChainADecisionToTrustAuthenticatesNoServer() throws {
        let chain = try #require(ChainFingerprint(sha256: [UInt8](repeating: 7, count: 32)))
        var settings = HandshakeSettings(peer: .server, versions: .standard)
        #expect(HandshakeRecord(settings).isAuthenticated)
        settings.decision = .decided(chain, isTrusted: false)
        #expect(HandshakeRecord(settings).isAuthenticated)
        settings.decision = .decided(chain, isTrusted: true)
        #expect(!HandshakeRecord(settings).isAuthenticated)
    }

    @Test func aCheckThatIsSwitchedOffAuthenticatesNoServer() {
        var unverified = HandshakeSettings(peer: .server, versions: .standard)
        var unnamed = unverified
        unverified.isVerified = false
        unnamed.checksHost = false
        #expect(!HandshakeRecord(unverified).isAuthenticated && !HandshakeRecord(unnamed).isAuthenticated)
    }
}
