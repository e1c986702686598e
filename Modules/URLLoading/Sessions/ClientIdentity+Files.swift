internal import FoundationEssentials
public import SallyportBase
public import SallyportCore
internal import SallyportTransport

extension ClientIdentity {
    /// Reads an identity from PEM files (RFC 7468).
    ///
    /// - Parameters:
    ///   - certificates: a file with the client's certificate and, behind it, those of authorities that servers may
    ///     not have; at most 4 MiB.
    ///   - key: a file with its private key, PKCS#8, PKCS#1 or SEC 1; the first file if nil.
    ///   - password: of an encrypted key.
    /// - Throws: `LoadError` with the code `fileSystem` where a file cannot be read, or the key is another's.
    public static func pem(
        certificates: String, key: String? = nil, password: Redacted<String>? = nil
    ) throws(LoadError) -> ClientIdentity {
        let chain = try PEMFile.blocks("CERTIFICATE", at: certificates, limit: 4 << 20)
        let keyFile = key ?? certificates
        let content = try bytes(of: keyFile)
        do {
            return try IdentityReader.identity(certificates: chain, key: content, password: password)
        } catch {
            throw LoadError(error.code, "\(keyFile): \(error.message)", underlying: error.underlying)
        }
    }

    /// Reads an identity from a PKCS#12 file (RFC 7292), of at most 4 MiB.
    ///
    /// - Throws: `LoadError` with the code `fileSystem` where it cannot be read, the password is another, or it has no
    ///   certificate with a key. Files encrypted with RC2, as old programs write them, cannot be read: write them anew
    ///   (`openssl pkcs12 -legacy`).
    public static func pkcs12(file: String, password: Redacted<String>) throws(LoadError) -> ClientIdentity {
        try IdentityReader.identity(pkcs12: bytes(of: file), password: password)
    }

    private static func bytes(of path: String) throws(LoadError) -> [UInt8] {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw LoadError(.fileSystem, "The identity cannot be read from \(path).", underlying: error)
        }
        guard data.count <= 4 << 20 else {
            throw LoadError(.fileSystem, "\(path), the file of an identity, is longer than 4 MiB.")
        }
        return Array(data)
    }
}
