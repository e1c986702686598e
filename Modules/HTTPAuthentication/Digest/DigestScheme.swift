internal import HTTPTypes
internal import SallyportBase
public import SallyportCore
internal import SallyportLoading

/// Authentication by user name and password, of which the server sees only digests (RFC 7616).
public struct DigestScheme: AuthenticationScheme {
    private let clientNonce: @Sendable () -> String

    /// Each answer gets a client nonce of 128 random bits.
    public init() { self.init(clientNonce: Self.random) }

    /// - Parameter clientNonce: returns another unpredictable nonce each time.
    package init(clientNonce: @escaping @Sendable () -> String) { self.clientNonce = clientNonce }

    /// `digest`.
    public var method: AuthenticationMethod { .digest }

    /// Whether the challenge has what an answer needs: a nonce, a realm, and an algorithm and a quality of protection
    /// that are known here.
    public func takes(_ offered: OfferedScheme) -> Bool { DigestChallenge(offered) != nil }

    /// The first challenge with SHA-256 or SHA-512-256, otherwise the first one. Servers list their preferred one first
    /// (§3.7), but some put MD5 there for clients that read only one challenge, which is no reason to use it.
    public func preferred(of offers: [OfferedScheme]) -> OfferedScheme? {
        let strengths = offers.map(strength)
        guard let highest = strengths.max(), let index = strengths.firstIndex(of: highest) else { return nil }
        return offers[index]
    }

    /// 1 for SHA-256 and SHA-512-256, 0 for MD5, and -1 for a challenge that cannot be answered.
    public func strength(of offered: OfferedScheme) -> Int { DigestChallenge(offered)?.algorithm.strength ?? -1 }

    /// The state for the challenge's nonce; nil for a challenge that cannot be answered.
    public func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)? {
        DigestChallenge(offered).map { DigestSession($0, clientNonce: clientNonce) }
    }

    /// 128 bits of the system's random numbers.
    private static func random() -> String {
        var numbers = SystemRandomNumberGenerator()
        // Each is short enough to need no allocation.
        return String(numbers.next(), radix: 36) + String(numbers.next(), radix: 36)
    }
}

/// One principal's Digest protection space: nonces and their counts, shared by all concurrent loads.
///
/// Uses a lock: each request takes a count of the nonce, and a call to an actor would cost more than the proof should.
final class DigestSession: AuthenticationSession {
    private let state: Lock<DigestConversation>
    private let clientNonce: @Sendable () -> String

    init(_ challenge: DigestChallenge, clientNonce: @escaping @Sendable () -> String) {
        state = Lock(DigestConversation(challenge))
        self.clientNonce = clientNonce
    }

    func challenged(by offered: OfferedScheme, over binding: ChannelBinding?) {
        guard let challenge = DigestChallenge(offered) else { return }
        state.withLock { $0.challenged(by: challenge) }
    }

    func signature(
        for request: LoadRequest, to kind: ProtectionSpace.Kind, with credential: Credential,
        until deadline: ContinuousClock.Instant
    ) async throws(LoadError) -> any RequestSignature {
        guard !credential.user.utf8.contains(where: { $0 < 32 || $0 == 127 }) else {
            throw LoadError(.invalidRequest, at: .request, "Digest allows no control character in a user's name.")
        }
        let challenge = state.withLock { $0.challenge }
        let function = challenge.algorithm.function
        // The proxy that opens a tunnel sees neither target nor body.
        if kind == .proxy, request.url.isSecure {
            let target = request.url.endpoint.map { "\($0)" } ?? ""
            let message = DigestMessage(method: "CONNECT", target: target, bodyHash: function.hash([]))
            return DigestSignature(message, to: kind, by: self, credential)
        }
        var message = DigestMessage(method: request.method.rawValue, target: request.url.target)
        if challenge.protection == .authInt { message.bodyHash = try await BodyHash.of(request.body, function) }
        return DigestSignature(message, to: kind, by: self, credential)
    }

    /// The URIs of `domain` on the same server (RFC 7616 §3.3); the whole server if it names none. Other servers never
    /// get a proof without a challenge, even if this one names them.
    func scopes(of url: RequestURL) -> [String] {
        let domain = state.withLock { $0.challenge.domain }
        guard !domain.isEmpty else { return ["/"] }
        return domain.compactMap { reference in
            guard let named = try? url.resolving(reference), named.origin == url.origin else { return nil }
            return named.target
        }
    }

    func proof(of message: DigestMessage, for credential: Credential) -> (proof: DigestProof, field: String)? {
        let fresh = clientNonce()
        return state.withLock { $0.proof(of: message, for: credential, clientNonce: fresh) }
    }

    func informed(of nonce: String) { state.withLock { $0.informed(of: nonce) } }
}
