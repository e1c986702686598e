import FoundationEssentials
import OutsideChecks
import SallyportAuthToken
import SallyportAuthTokenVerification
import SallyportAuthorization
import SallyportBase
import SallyportSecureStore

/// Authorization and tokens: an app that proves its user to a server, and the server, which checks the token off-line.
///
///     OutsideTokens DIRECTORY LINK KEYS ISSUER
///
/// KEYS is a file with what the gateway publishes at `/.well-known/jwks.json`.
@main
struct OutsideTokens {
    private static let usage = "OutsideTokens DIRECTORY LINK KEYS ISSUER"
    private static let server = "reports.corp.example"

    static func main() async throws {
        let (directory, link) = (argument(1, usage), argument(2, usage))
        let store = try await SecureStore.open(at: "\(directory)/store", protectedBy: .keyFile("\(directory)/key"))
        let authorization = try Authorization.open(store: store)
        let tokens = AuthTokens(in: store, authorization: authorization)
        let parts = InstanceParts(of: authorization, [tokens])
        let user = try await authorization.activate(link: link).user

        let token = try await tokens.token(challenge: "c1", serverName: server, isBound: true)
        let proof = try await tokens.proof(method: "GET", url: "https://\(server)/today", token: token)
        try await check(token.text, proof, of: user)
        await parts.shutdown()
        store.close()
    }

    /// What the app's server does with what came in the fields of a request. It is a program of its own, as a rule.
    private static func check(_ token: Redacted<String>, _ proof: Redacted<String>, of user: String) async throws {
        let keys = try Data(contentsOf: URL(filePath: argument(3, usage)))
        let verifier = AuthTokenVerifier(
            keys: PublishedKeys(from: FixedKeys(Array(keys))), issuer: argument(4, usage), requireProof: true)
        let presented = PresentedProof(proof.reveal(), method: "GET", url: "https://\(server)/today")
        let expected = AuthTokenExpectation(user: user, server: server, challenge: "c1")
        let verified = try await verifier.verify(token.reveal(), for: expected, proof: presented)
        show("the token is \(verified.user)'s, and the sender has the key", verified.isProven)
        do throws(AuthTokenVerificationError) {
            _ = try await verifier.verify(token.reveal(), for: .init(user: "bob@corp.example", server: server))
            show("it is one user's only", false)
        } catch {
            show("it is one user's only", error.code == .wrongUser)
        }
    }
}
