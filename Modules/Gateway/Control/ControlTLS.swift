internal import HummingbirdTLS
internal import NIOCore
internal import NIOSSL
internal import SallyportBase

extension TLSChannelConfiguration {
    /// Verifies clients itself: the issuer, usage and name at the handshake, the end and status path by path, since an
    /// expired certificate may still renew.
    static func control(_ current: CurrentState, authority: [UInt8]) throws -> Self {
        TLSChannelConfiguration(
            tlsConfiguration: try .control(current, authority: authority),
            customAsyncVerificationCallback: { chain in
                guard let leaf = try? chain.first?.toDERBytes() else { return .failed }
                // Of an instance, or of a relay; which of the two a path needs, it checks itself.
                let isKnown =
                    (try? current.presented(leaf)) != nil || (try? current.relay(presenting: leaf)) != nil
                return isKnown ? .certificateVerified : .failed
            })
    }
}

extension TLSConfiguration {
    /// TLS 1.3 or 1.2. A client certificate is requested but not required. The gateway's own certificate is looked up
    /// at each handshake.
    fileprivate static func control(_ current: CurrentState, authority: [UInt8]) throws -> TLSConfiguration {
        let (chain, key) = try current.value.server.sources()
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: key)
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .optionalVerification
        configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: authority, format: .der)])
        configuration.sslContextCallback = { _, promise in
            promise.completeWith(
                Result {
                    var override = NIOSSLContextConfigurationOverride()
                    (override.certificateChain, override.privateKey) = try current.value.server.sources()
                    return override
                })
        }
        return configuration
    }
}

extension StoredIdentity {
    fileprivate func sources() throws -> (chain: [NIOSSLCertificateSource], key: NIOSSLPrivateKeySource) {
        (
            [.certificate(try NIOSSLCertificate(bytes: certificate, format: .der))],
            .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        )
    }

    /// The gateway's certificate and key, for the relay.
    var relayIdentity: RelayIdentity { RelayIdentity(certificates: [certificate], privateKey: Redacted(key)) }
}
