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
        try pem(certificates: certificates, key: key, password: password, awaiting: nil)
    }

    /// As ``pem(certificates:key:password:)``.
    ///
    /// - Parameter isReady: given if the paths, of the command line, may lead to pipes: waits for what can be read of
    ///   one; false to give up.
    package static func pem(
        certificates: String, key: String?, password: Redacted<String>? = nil,
        awaiting isReady: ((Int32) -> Bool)?
    ) throws(LoadError) -> ClientIdentity {
        let chain = try PEMFile.blocks("CERTIFICATE", at: certificates, limit: limit, awaiting: isReady)
        let keyFile = key ?? certificates
        let content = try bytes(of: keyFile, awaiting: isReady)
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

    /// Of each file, in bytes.
    private static let limit = 4 << 20

    private static func bytes(
        of path: String, awaiting isReady: ((Int32) -> Bool)? = nil
    ) throws(LoadError) -> [UInt8] {
        do throws(BoundedFile.Failure) {
            return try BoundedFile.read(path, upTo: limit, awaiting: isReady)
        } catch {
            guard error.reason != .tooLong else {
                throw LoadError(.fileSystem, "\(path), the file of an identity, is longer than 4 MiB.")
            }
            throw LoadError(.fileSystem, "The identity cannot be read from \(path).", underlying: error)
        }
    }
}
