internal import FoundationEssentials
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
        try .only(PEMFile.certificates(at: path))
    }

    /// The authorities in a PEM file besides those of the operating system.
    ///
    /// - Throws: as ``only(pemFile:)``.
    public static func systemAnd(pemFile path: String) throws(LoadError) -> ServerTrust {
        try .systemAnd(PEMFile.certificates(at: path))
    }
}

/// Certificates in PEM (RFC 7468).
private enum PEMFile {
    static let limit = 4 << 20

    static func certificates(at path: String) throws(LoadError) -> [[UInt8]] {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw LoadError(.fileSystem, "The certificate file cannot be read.", underlying: error)
        }
        guard data.count <= limit, let text = String(data: data, encoding: .utf8) else {
            throw LoadError(.fileSystem, "The certificate file is not text of at most 4 MiB.")
        }
        // What stands before the first certificate, though it be nothing, is not one.
        let blocks = text.split(separator: "-----BEGIN CERTIFICATE-----", omittingEmptySubsequences: false)
        let certificates = try blocks.dropFirst().map(certificate)
        guard !certificates.isEmpty else { throw LoadError(.fileSystem, "The file holds no certificate.") }
        return certificates
    }

    private static func certificate(_ block: Substring) throws(LoadError) -> [UInt8] {
        let lines = block.split(whereSeparator: \.isNewline).prefix { !$0.hasPrefix("-----END") }
        guard let data = Data(base64Encoded: lines.joined()), !data.isEmpty else {
            throw LoadError(.fileSystem, "A certificate of the file is not base64.")
        }
        return Array(data)
    }
}
