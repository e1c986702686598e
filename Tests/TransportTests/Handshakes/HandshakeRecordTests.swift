import COpenSSL
import SallyportCore
import Testing

@testable import SallyportTransport

/// Which OpenSSL objects a record keeps, since libcurl frees its own at any time.
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
}
