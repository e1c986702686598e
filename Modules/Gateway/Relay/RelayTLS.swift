internal import NIOSSL
internal import SallyportBase

/// TLS on the relay's listener: 1.2 or 1.3, with a client certificate issued by one of the relay's authorities for
/// clientAuth.
enum RelayTLS {
    static func context(identity: RelayIdentity, trust: [[UInt8]]) throws(GatewayError) -> NIOSSLContext {
        do {
            let chain = try identity.certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) }
            let key = try NIOSSLPrivateKey(bytes: Array(identity.privateKey.reveal().utf8), format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            // Instances have no host names. BoringSSL checks chain, dates and clientAuth.
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(
                try trust.map { try NIOSSLCertificate(bytes: $0, format: .der) })
            configuration.applicationProtocols = ["http/1.1"]
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw GatewayError(.invalid, "The relay's certificate, key or authority cannot be used.", underlying: error)
        }
    }
}
