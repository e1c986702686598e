import COpenSSL
import SallyportCore
import Testing

@testable import SallyportTransport

/// What is kept of OpenSSL's objects, which libcurl frees when it likes.
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
            // The hello is written, and the answer waited for.
            #expect(SSL_connect(connection) != 1)
            #expect(record.connection == connection)
            SSL_free(connection)
            #expect(record.connection == nil)
        }
        SSL_CTX_free(context)
        #expect(kept == nil)
    }
}
