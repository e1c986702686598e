internal import CPKCS11
public import SallyportBase
public import SallyportCore
internal import SallyportPKCS11Token

/// A client identity whose private key is in a PKCS#11 token (OASIS PKCS #11 v2.40): a smart card, a USB key, a
/// hardware security module. The key does not leave the token.
///
/// ```swift
/// let identity = try PKCS11Identity(module: "/usr/lib/softhsm/libsofthsm2.so", token: "app", label: "tls", pin: pin)
/// try configuration.present(identity.clientIdentity, to: "reports.corp.example")
/// ```
///
/// The token must contain a private key and, unless the app has it, a certificate with the same label: EC with
/// `CKM_ECDSA`, or RSA with `CKM_RSA_PKCS` and `CKM_RSA_X_509`. It signs once for each handshake, on the event loop: a
/// token that takes 50 ms delays the loop's other connections by 50 ms. Nothing is written to the token, which may be
/// write-protected. A session with it is kept as long as the identity exists. A login of PKCS#11 is the whole
/// process's: as long as an identity of a token exists, the token asks this process for no PIN, and whatever PIN
/// another identity or a `PKCS11Protector` gives for it is not checked.
public final class PKCS11Identity: IdentitySigner {
    /// The leaf first; DER.
    private let certificates: [[UInt8]]
    private let session: TokenSession
    private let key: ck_object_handle_t

    /// Logs in, and finds certificate and key.
    ///
    /// - Parameters:
    ///   - module: the path of the token's PKCS#11 module, a shared library.
    ///   - token: the token's label.
    ///   - label: the label of certificate and key.
    ///   - pin: the user's PIN. The token counts wrong ones, and may lock itself. Not checked while the process is
    ///     logged in already.
    ///   - certificates: the key's certificate and, after it, those of authorities that servers may not have; DER. If
    ///     nil, the token's own.
    /// - Throws: `LoadError` with the code `invalidConfiguration`.
    public init(
        module: String, token: String, label: String, pin: Redacted<String>, certificates: [[UInt8]]? = nil
    ) throws(LoadError) {
        let found: Found
        do throws(TokenError) {
            found = try TokenTurn.lock.withLock { _ throws(TokenError) in
                try Self.find(
                    label, in: TokenModule(path: module).session(with: token, pin: pin.reveal()), token, certificates)
            }
        } catch {
            throw LoadError(.invalidConfiguration, error.message)
        }
        (session, key, self.certificates) = (found.session, found.key, found.certificates)
    }

    deinit { TokenTurn.lock.withLock { _ in session.close() } }

    /// The identity for TLS.
    public var clientIdentity: ClientIdentity { ClientIdentity(certificates: certificates, signer: self) }

    /// Has the token sign. Takes as long as the token does; all uses of tokens in the process take turns.
    ///
    /// - Throws: the token's error, such as one that was removed: the handshake fails with `tlsFailed`.
    public func signature(of input: [UInt8], by operation: SigningOperation) throws -> [UInt8] {
        let mechanism: UInt =
            switch operation {
            case .ecdsa: CKM_ECDSA
            case .rsaPKCS1: CKM_RSA_PKCS
            case .rsaRaw: CKM_RSA_X_509
            }
        let signature = try TokenTurn.lock.withLock { _ throws(TokenError) in
            try session.signature(of: input, with: key, by: mechanism)
        }
        return operation == .ecdsa ? ECDSASignature.der(signature) : signature
    }

    private struct Found {
        let session: TokenSession
        let key: ck_object_handle_t
        let certificates: [[UInt8]]
    }

    /// Closes the session if an object is missing.
    private static func find(
        _ label: String, in session: TokenSession, _ token: String, _ certificates: [[UInt8]]?
    ) throws(TokenError) -> Found {
        do throws(TokenError) {
            let key = try object(CKO_PRIVATE_KEY, label, in: session, token)
            if let certificates { return Found(session: session, key: key, certificates: certificates) }
            let certificate = try session.value(
                CKA_VALUE, of: object(CKO_CERTIFICATE, label, in: session, token))
            return Found(session: session, key: key, certificates: [certificate])
        } catch {
            session.close()
            throw error
        }
    }

    private static func object(
        _ kind: UInt, _ label: String, in session: TokenSession, _ token: String
    ) throws(TokenError) -> ck_object_handle_t {
        if let found = try session.object(of: kind, labelled: label) { return found }
        let name = kind == CKO_PRIVATE_KEY ? "private key" : "certificate"
        throw TokenError(.unavailable, "The token \(token) has no \(name) \(label).")
    }
}
