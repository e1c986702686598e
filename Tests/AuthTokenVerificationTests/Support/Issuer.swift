import Crypto
import HTTPTypes
import SallyportAuthTokenVerification
import SallyportBase
import SallyportCore
import SallyportWire
import Testing

/// A gateway without a network: signs tokens, publishes keys, and answers as the service does. Its clock is the test's.
final class Issuer: AuthTokenKeySource, AuthTokenService {
    static let name = "https://gateway.example:17433"
    static let start: Int64 = 1_700_000_000

    struct State: Sendable {
        var now = Issuer.start
        var keys: [String: P256.Signing.PrivateKey] = ["k1": P256.Signing.PrivateKey()]
        /// Instead of the true document.
        var document: [UInt8]?
        /// Why nothing comes.
        var isDown = false
        var fetches = 0
        var asked = 0
        var verdict = AuthTokenAPI.Verdict.valid
        /// Changes what the service says.
        var distortion: @Sendable (inout HTTPResponse) -> Void = { _ in }
    }

    struct Down: Error {}

    let state = Lock(State())
    let clientKey = P256.Signing.PrivateKey()

    var clock: @Sendable () -> Int64 { { self.state.withLock { $0.now } } }
    func advance(_ seconds: Int64) { state.withLock { $0.now += seconds } }
    var fetches: Int { state.withLock { $0.fetches } }

    func keys() -> PublishedKeys { PublishedKeys(from: self, clock: clock) }

    func verifier(leeway: Int64 = 30, requireProof: Bool = false) -> AuthTokenVerifier {
        AuthTokenVerifier(
            keys: keys(), issuer: Self.name, leeway: leeway, requireProof: requireProof,
            proofs: ProofsInMemory(limit: 100, clock: clock))
    }

    func onlineVerifier(requireProof: Bool = false) -> AuthTokenVerifier {
        AuthTokenVerifier(
            service: self, requireProof: requireProof, proofs: ProofsInMemory(limit: 100, clock: clock), clock: clock)
    }

    // MARK: Tokens

    func claims(_ challenge: String = "c1", isBound: Bool = false) throws -> AuthTokenClaims {
        let now = state.withLock { $0.now }
        return AuthTokenClaims(
            issuer: Self.name, user: "ann@example", server: "app.example", challenge: challenge, issuedAt: now,
            expires: now + 300, identifier: "\(InstanceIdentifier())",
            entitlement: try #require(EntitlementIdentifier("com.example.report")), instance: InstanceIdentifier(),
            keyThumbprint: isBound ? JWK(clientKey.publicKey).thumbprint : nil)
    }

    func token(
        _ challenge: String = "c1", by keyID: String = "k1", isBound: Bool = false,
        _ change: (inout AuthTokenClaims) -> Void = { _ in }
    ) throws -> String {
        var claims = try claims(challenge, isBound: isBound)
        change(&claims)
        let key = try #require(state.withLock { $0.keys[keyID] })
        return try SignedAuthToken.sign(claims, with: key, keyID: keyID)
    }

    static let url = "https://app.example/reports"

    func proof(
        of token: String, method: String = "GET", url: String = url, identifier: String = "p1",
        age: Int64 = 0, by key: P256.Signing.PrivateKey? = nil
    ) throws -> PresentedProof {
        let now = state.withLock { $0.now }
        let text = try DPoPProof.make(
            for: method, at: RequestURL(url), with: token, identifier: identifier, issuedAt: now - age,
            signedWith: key ?? clientKey)
        return PresentedProof(text, method: "GET", url: Self.url)
    }

    // MARK: What app servers ask

    func fetchKeys() async throws -> [UInt8] {
        // Others that wait for the same get the time to come.
        await Task.yield()
        let state = state.withLock { state in
            state.fetches += 1
            return state
        }
        if state.isDown { throw Down() }
        if let document = state.document { return document }
        return try JWKSet(state.keys.sorted { $0.key < $1.key }.map { JWK($1.publicKey, keyID: $0) }).serialized()
    }

    func verify(_ headerFields: HTTPFields) async throws -> HTTPResponse {
        let state = state.withLock { state in
            state.asked += 1
            return state
        }
        if state.isDown { throw Down() }
        let token = try #require(headerFields[try Self.field(AuthTokenAPI.Field.token)])
        var response = HTTPResponse(status: .ok)
        response.headerFields[try Self.field(AuthTokenAPI.Field.code)] = state.verdict.text
        let key = try SignedAuthToken(Array(token.utf8)).keyID
        if state.verdict == .valid, let key = state.keys[key] {
            let claims = try SignedAuthToken(Array(token.utf8)).claims(signedWith: key.publicKey)
            for (field, value) in AuthTokenAPI.told(of: claims) { response.headerFields[try Self.field(field)] = value }
        }
        state.distortion(&response)
        return response
    }

    static func field(_ name: String) throws -> HTTPField.Name { try #require(HTTPField.Name(name)) }
}

extension AuthTokenExpectation {
    static func ann(_ challenge: String? = nil) -> AuthTokenExpectation {
        AuthTokenExpectation(user: "ann@example", server: "app.example", challenge: challenge)
    }
}

extension AuthTokenVerificationError {
    /// One to compare with: errors are equal where their codes are.
    static func of(_ code: Code) -> AuthTokenVerificationError { AuthTokenVerificationError(code, "") }
}
