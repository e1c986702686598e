internal import Crypto
internal import FoundationEssentials
public import SallyportAuthorization
public import SallyportBase
public import SallyportCore
internal import SallyportLoading
public import SallyportSecureStore
internal import SallyportWire

/// Asks for tokens that tell app servers who uses the app, without another password.
///
/// ```swift
/// let token = try await sallyport.authTokens.token(challenge: challenge, serverName: "reports.corp.example")
/// var request = LoadRequest.get("https://reports.corp.example/today")
/// request.headerFields[AuthToken.fieldName] = token.text.reveal()
/// ```
///
/// The app sends its user's id beside the token; the server compares the two. Each call gets a new token from the
/// gateway, which issues them to authorized instances only.
public actor AuthTokens: InstancePart {
    /// Requests by ``requestToken(challenge:serverName:)`` that may be under way; one more fails with `retry`.
    public static let maximumRequests = 64

    private nonisolated let source: any TokenSource
    private nonisolated let gate: any AccessGate
    private nonisolated let key: TokenKey
    private nonisolated let clock: @Sendable () -> Int64
    weak var heldDelegate: (any AuthTokenDelegate)?
    /// The requests of ``requestToken(challenge:serverName:)``, by number.
    var requests: [Int: Task<Void, Never>] = [:]
    var lastRequest = 0
    private(set) var isShutDown = false

    /// Makes no request yet.
    ///
    /// - Parameters:
    ///   - store: keeps the instance's key, where the app's own calls do not see it: the one that the authorization was opened
    ///     on.
    ///   - authorization: whose gateway gives tokens, while the app is authorized.
    public init(in store: SecureStore, authorization: Authorization) {
        self.init(in: store, source: authorization, gate: authorization) {
            Int64(Date().timeIntervalSince1970)
        }
    }

    init(
        in store: SecureStore, source: any TokenSource, gate: any AccessGate, clock: @escaping @Sendable () -> Int64
    ) {
        self.source = source
        self.gate = gate
        self.clock = clock
        key = TokenKey(in: store)
    }

    /// A new token.
    ///
    /// - Parameters:
    ///   - challenge: what the server gave, ASCII letters and digits, at most 256; may be empty.
    ///   - serverName: by convention the full name of the server that the token is for, visible ASCII of at most 255
    ///     bytes; may be empty. It comes back to the server, which refuses a token for another.
    ///   - isBound: whether the token is bound to this instance's key, so that a server may demand a proof.
    /// - Throws: ``AuthTokenError``; `retry` (-1) and `notSupported` (-2) as documented. Cancelling the task ends it.
    public nonisolated func token(
        challenge: String, serverName: String, isBound: Bool = false
    ) async throws(AuthTokenError) -> AuthToken {
        try check(challenge, serverName)
        var request = AuthTokenAPI.Request(challenge: challenge, server: serverName)
        if isBound { request.jkt = JWK(try await key.key(of: instance()).publicKey).thumbprint }
        let answer: TokenAnswer
        do throws(LoadError) {
            answer = try await source.token(for: request)
        } catch {
            throw AuthTokenError(error)
        }
        // Withdrawn meanwhile: the token is worth nothing, and must not leave.
        try checkAuthorized()
        guard answer.status == 200 else { throw AuthTokenError(status: answer.status) }
        guard let token = try? WireJSON.decode(AuthTokenAPI.Answer.self, from: answer.body, limit: answer.body.count),
            token.token.utf8.count <= AuthTokenClaims.maximumLength
        else { throw AuthTokenError(.retry, "The gateway's answer holds no token.") }
        return AuthToken(text: Redacted(token.token), expires: token.expires, isBound: isBound)
    }

    /// A proof that this instance has the key that a token is bound to, for one request (RFC 9449 §4): the value of its
    /// ``AuthToken/proofFieldName``. Each request needs a proof of its own, made less than a minute before.
    ///
    /// - Parameters:
    ///   - method: of the request, in its case.
    ///   - url: of the request, `http` or `https`; query and fragment do not count.
    public nonisolated func proof(
        method: String, url: String, token: AuthToken
    ) async throws(AuthTokenError) -> Redacted<String> {
        try checkAuthorized()
        guard !method.isEmpty, method.utf8.count <= 64, let url = try? RequestURL(url), url.endpoint != nil else {
            throw AuthTokenError(.invalidRequest, "A proof is for a method and an http or https URL.")
        }
        guard token.isBound else {
            throw AuthTokenError(.invalidRequest, "The token is bound to no key: ask for one with isBound.")
        }
        let key = try await key.key(of: instance())
        do throws(WireError) {
            return Redacted(
                try DPoPProof.make(
                    for: method, at: url, with: token.text.reveal(), identifier: UUID().uuidString.lowercased(),
                    issuedAt: clock(), signedWith: key))
        } catch {
            throw AuthTokenError(.store, "The instance's key did not sign.", underlying: error)
        }
    }

    nonisolated func check(_ challenge: String, _ serverName: String) throws(AuthTokenError) {
        guard AuthTokenClaims.isChallenge(challenge) else {
            throw AuthTokenError(.invalidChallenge, "A challenge is ASCII letters and digits, at most 256.")
        }
        guard AuthTokenClaims.isServerName(serverName) else {
            throw AuthTokenError(.invalidServerName, "A server name is visible ASCII, at most 255 bytes.")
        }
        try checkAuthorized()
    }

    private nonisolated func checkAuthorized() throws(AuthTokenError) {
        do throws(AccessDenied) { try gate.checkAuthorized() } catch { throw AuthTokenError(error) }
    }

    private nonisolated func instance() throws(AuthTokenError) -> String {
        guard let instance = source.instance else {
            throw AuthTokenError(.notAuthorized, "There is no instance that a key could be of.")
        }
        return instance
    }
}

// MARK: End

extension AuthTokens {
    /// Cancels the requests that are under way, of which delegates hear, and waits until they have.
    public func shutdown() async {
        isShutDown = true
        let tasks = Array(requests.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
