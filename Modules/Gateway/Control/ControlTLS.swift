internal import HummingbirdTLS
internal import NIOCore
internal import NIOSSL
internal import SallyportBase

/// The certificate that both listeners show: the newest one, to each new connection.
final class ServerCertificate: Sendable {
    private let identity: Lock<StoredIdentity>

    init(_ identity: StoredIdentity) { self.identity = Lock(identity) }

    func update(_ new: StoredIdentity) { identity.withLock { $0 = new } }

    var current: StoredIdentity { identity.withLock { $0 } }

    /// TLS 1.3 or 1.2, a client certificate asked for and not demanded. The certificate is looked up at each
    /// handshake.
    func configuration(authority: [UInt8]) throws -> TLSConfiguration {
        let identity = current
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: identity.certificate, format: .der))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)))
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .optionalVerification
        configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: authority, format: .der)])
        configuration.sslContextCallback = { [self] _, promise in
            promise.completeWith(Result { try self.override() })
        }
        return configuration
    }

    private func override() throws -> NIOSSLContextConfigurationOverride {
        let identity = current
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = [.certificate(try NIOSSLCertificate(bytes: identity.certificate, format: .der))]
        override.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))
        return override
    }
}

extension TLSChannelConfiguration {
    /// Verifies clients itself: the issuer, usage and name at the handshake, the end and status path by path, since an
    /// expired certificate may still renew.
    static func control(_ certificate: ServerCertificate, data: GatewayData, authority: [UInt8]) throws -> Self {
        TLSChannelConfiguration(
            tlsConfiguration: try certificate.configuration(authority: authority),
            customAsyncVerificationCallback: { chain in
                guard let leaf = chain.first, (try? data.presented(leaf.toDERBytes())) != nil else {
                    return .failed
                }
                return .certificateVerified
            })
    }
}
