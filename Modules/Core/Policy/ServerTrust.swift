/// The authorities that may issue the certificates of application servers.
public struct ServerTrust: Sendable, Hashable {
    package let anchors: TrustAnchors

    /// The authorities of the operating system.
    public static let system = ServerTrust(anchors: .system)

    /// These authorities and no others. Certificates are DER.
    public static func only(_ certificates: [[UInt8]]) -> ServerTrust { ServerTrust(anchors: .only(certificates)) }

    /// These authorities besides those of the operating system. Certificates are DER.
    public static func systemAnd(_ certificates: [[UInt8]]) -> ServerTrust {
        ServerTrust(anchors: .systemAnd(certificates))
    }

    /// The authorities in a PEM file and no others.
    ///
    /// - Throws: `LoadError` with the code `fileSystem` if the file, of at most 4 MiB, cannot be read or contains no
    ///   certificate.
    public static func only(pemFile path: String) throws(LoadError) -> ServerTrust {
        try .only(PEMFile.blocks("CERTIFICATE", at: path, limit: 4 << 20))
    }

    /// The authorities in a PEM file besides those of the operating system.
    ///
    /// - Throws: as ``only(pemFile:)``.
    public static func systemAnd(pemFile path: String) throws(LoadError) -> ServerTrust {
        try .systemAnd(PEMFile.blocks("CERTIFICATE", at: path, limit: 4 << 20))
    }
}

/// The authorities that may issue servers' certificates. Certificates are DER.
package enum TrustAnchors: Sendable, Hashable {
    /// The authorities of the operating system.
    case system
    /// These and no others.
    case only([[UInt8]])
    /// Only these, and only for certificates whose extended key usage is that of a server: the gateway's authority also
    /// issues the certificates of instances, and no instance may use its own to act as a gateway. The same is required
    /// of relays.
    case gateway([[UInt8]])
    /// These besides those of the operating system.
    case systemAnd([[UInt8]])
    /// Any certificate. For two purposes only: the first contact, which fetches public certificates and then trusts the
    /// one with the given fingerprint, without sending a secret; and a socket whose app has disabled verification.
    case unverified
}
