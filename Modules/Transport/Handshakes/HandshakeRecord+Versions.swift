internal import COpenSSL
internal import SallyportCore

// Which version of TLS the peer chose, for the error if it was not offered.
extension HandshakeRecord {
    /// The error if client and peer have no version in common; nil if the handshake failed otherwise.
    func versionRefusal(at step: LoadError.Step) -> LoadError? {
        if refusedVersion {
            return LoadError(
                .noCommonTLSVersion, at: step, "The peer accepts none of the offered versions (\(offered)).")
        }
        guard hasRefusedVersion, let chosenVersion else { return nil }
        return LoadError(
            .noCommonTLSVersion, at: step, "The peer chose \(Self.name(of: chosenVersion)); offered was \(offered).")
    }

    private var offered: String {
        TLSVersion.allCases.filter(settings.versions.contains).map(\.description).joined(separator: ", ")
    }

    /// - Parameter version: as it is sent (RFC 8446 §4.1.3).
    private static func name(of version: UInt16) -> String {
        switch version {
        case 0x0300: "SSL3.0"
        case 0x0301: "\(TLSVersion.tls10)"
        case 0x0302: "\(TLSVersion.tls11)"
        case 0x0303: "\(TLSVersion.tls12)"
        default: "the version 0x\(String(version, radix: 16))"
        }
    }
}
