public import SallyportCore
internal import SallyportTransport

/// Who may issue the certificates of application servers.
public struct ServerTrust: Sendable, Hashable {
    let anchors: TrustAnchors

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
