import SallyportAuthTokenVerification
import SallyportBase
import SallyportPKCS11Identity
import SallyportPKCS11Protector
import SallyportSecureStore
import SallyportURLLoading

/// An app server's check of the token and the user that a request carried. `source` fetches the gateway's keys.
func sender(
    of text: String, claiming user: String, keysFrom source: some AuthTokenKeySource
) async throws -> VerifiedAuthToken {
    let verifier = AuthTokenVerifier(keys: PublishedKeys(from: source), issuer: "https://gateway.corp.example:17433")
    let sessions = AuthTokenSessions(verifier: verifier, use: .session)
    return try await sessions.admit(text, for: .init(user: user, server: "reports.corp.example"))
}

/// A store that opens only with a token, such as a smart card.
func openStore(at path: String, pin: String) async throws -> SecureStore {
    let token = PKCS11Protector(module: "/usr/lib/softhsm/libsofthsm2.so", token: "app", pin: pin)
    return try await SecureStore.open(at: path, protectedBy: token)
}

/// A session's settings, with a client certificate whose key stays in a token.
func configuration(with pin: Redacted<String>) throws -> SessionConfiguration {
    let identity = try PKCS11Identity(
        module: "/usr/lib/softhsm/libsofthsm2.so", token: "app", label: "tls", pin: pin)
    var configuration = SessionConfiguration()
    try configuration.present(identity.clientIdentity, to: "reports.corp.example")
    return configuration
}
