/// Who may issue the certificates of application servers.
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
    /// - Throws: `LoadError` with the code `fileSystem` where the file, of at most 4 MiB, cannot be read or holds no
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

/// Who may issue the certificates of servers. Certificates are DER.
package enum TrustAnchors: Sendable, Hashable {
    /// The authorities of the operating system.
    case system
    /// These and no others.
    case only([[UInt8]])
    /// These and no others, and only for certificates that say they are a server's: what a gateway's authority issues
    /// says what it is for, so that no instance can play gateway with the certificate that it has from the same
    /// authority. Relays are always asked for as much.
    case gateway([[UInt8]])
    /// These besides those of the operating system.
    case systemAnd([[UInt8]])
    /// Anybody. For two purposes only: the first contact fetches public certificates, of which it then trusts the one
    /// whose fingerprint it was told, and sends no secret; and a socket for which the app says so.
    case unverified
}
