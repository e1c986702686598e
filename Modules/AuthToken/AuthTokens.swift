internal import Crypto
internal import FoundationEssentials
public import SallyportAuthorization
public import SallyportBase
public import SallyportCore
internal import SallyportLoading
public import SallyportSecureStore
internal import SallyportWire

/// Requests tokens by which app servers recognise the app's user without another password.
///
/// ```swift
/// let token = try await sallyport.authTokens.token(challenge: challenge, serverName: "reports.corp.example")
/// var request = try LoadRequest.get("https://reports.corp.example/today")
/// request.headerFields[AuthToken.fieldName] = token.text.reveal()
/// ```
///
/// The app sends its user's id along with the token, and the server compares the two. Each call gets a new token from
/// the gateway, which issues tokens to authorized instances only.
public actor AuthTokens: InstancePart {
    /// The greatest number of pending requests by ``requestToken(challenge:serverName:)``; one more fails with `retry`.
    public static let maximumRequests = 64

    private nonisolated let source: any TokenSource
    private nonisolated let gate: any AccessGate
    private nonisolated let key: TokenKey
    private nonisolated let clock: @Sendable () -> Int64
    weak var heldDelegate: (any AuthTokenDelegate)?
    /// The pending requests of ``requestToken(challenge:serverName:)``, by number.
    var requests: [Int: Task<Void, Never>] = [:]
    var lastRequest = 0
    private(set) var isShutDown = false

    /// Creates the client without making a request.
    ///
    /// - Parameters:
    ///   - store: the store with which the authorization was opened; keeps the instance's key where the app's own calls
    ///     cannot reach it.
    ///   - authorization: the authorization whose gateway issues the tokens.
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

    /// Requests a new token.
    ///
    /// - Parameters:
    ///   - challenge: the server's challenge: ASCII letters and digits, at most 256 of them; may be empty.
    ///   - serverName: by convention the full name of the server that the token is for: visible ASCII of at most 255
    ///     bytes; may be empty. The token contains it, and a server refuses a token that names another server.
    ///   - isBound: whether the token is bound to this instance's key, so that a server may demand a proof.
    /// - Throws: ``AuthTokenError``, for example `retry` (-1) or `notSupported` (-2). Cancelling the task ends the
    ///   request.
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
        // Authorization was withdrawn meanwhile: the token is worthless and is not handed out.
        try checkAuthorized()
        guard answer.status == 200 else { throw AuthTokenError(status: answer.status) }
        guard let token = try? WireJSON.decode(AuthTokenAPI.Answer.self, from: answer.body, limit: answer.body.count),
            token.token.utf8.count <= AuthTokenClaims.maximumLength
        else { throw AuthTokenError(.retry, "The gateway's answer holds no token.") }
        return AuthToken(text: Redacted(token.token), expires: token.expires, isBound: isBound)
    }

    /// A proof, for one request, that this instance has the key to which a token is bound (RFC 9449 §4). Send it as
    /// ``AuthToken/proofFieldName``. Each request needs its own proof, made less than a minute before.
    ///
    /// - Parameters:
    ///   - method: the request's method; case matters.
    ///   - url: the request's `http` or `https` URL; query and fragment are ignored.
    ///   - token: the token that is sent with the request.
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
        // Checked again, as for a token: authorization may have been withdrawn while the key was read.
        try checkAuthorized()
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
            throw AuthTokenError(.notAuthorized, "The store has no instance, and so no key.")
        }
        return instance
    }
}

// MARK: End

extension AuthTokens {
    /// Cancels the pending requests and waits until their delegates have been called.
    public func shutdown() async {
        isShutDown = true
        let tasks = Array(requests.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
