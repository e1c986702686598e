internal import HTTPTypes
public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// What a scheme with a separate proof for each request keeps of one protection space. There is one for each principal
/// and space, shared by all loads that use it at once: usually an actor.
public protocol AuthenticationSession: AnyObject, Sendable {
    /// The server sent a challenge.
    ///
    /// - Parameters:
    ///   - offered: the challenge, which the scheme takes.
    ///   - binding: the channel to which proofs over the challenge's connection may be bound; nil if that connection
    ///     has no TLS with the server.
    func challenged(by offered: OfferedScheme, over binding: ChannelBinding?) async

    /// Prepares the proof for `request`.
    ///
    /// - Parameters:
    ///   - request: as it will be sent.
    ///   - kind: the sender of the challenge, the server or a proxy.
    ///   - credential: the user's, by which the proof is made.
    ///   - deadline: the load's, for a scheme that must ask a third party, such as a KDC.
    /// - Throws: `LoadError.Code.invalidRequest` for a credential that this scheme cannot send; `credentialRefused`
    ///   for one that is known to be wrong, or that a third party has refused: no other method says the same password in
    ///   that load unless the app answers its challenge with it; the error of reading the body, if the proof covers it.
    ///   Cancelled with the load.
    func signature(
        for request: LoadRequest, to kind: ProtectionSpace.Kind, with credential: Credential,
        until deadline: ContinuousClock.Instant
    ) async throws(LoadError) -> any RequestSignature

    /// The paths below which a credential accepted for `url` may be sent without a challenge.
    func scopes(of url: RequestURL) async -> [String]

    /// The server refused a credential.
    func refused(_ credential: Credential) async

    /// The session's credentials were cleared: running loads continue, but no state is kept from here on.
    func end() async
}

extension AuthenticationSession {
    /// Does nothing.
    public func refused(_ credential: Credential) async {}
    /// Does nothing.
    public func end() async {}
}

/// The proof of one request, made when the request is sent, and again each time it is sent. Used by one load, which may
/// also send its request in the background after a response from the cache.
public protocol RequestSignature: AnyObject, Sendable {
    /// The value of `Authorization`; nil if no proof can be made before another challenge.
    func make() async -> Redacted<String>?

    /// Whether ``make()`` returned a proof: the server has seen it, and has answered it.
    var isMade: Bool { get async }

    /// Whether the challenge says that only the proof had expired. Then another proof is made, at most three times in
    /// one load.
    func isOutdated(by offered: OfferedScheme) async -> Bool

    /// Examines a response of the server or proxy that accepted the proof, as it came from the network: before a cache
    /// stores it, or takes it for a confirmation of what it has stored.
    ///
    /// Called for each answer to a request with a proof, except challenges; so perhaps several times in a load, and for
    /// a 304 too. Never called for an answer out of a cache. The body is as the server sent it, with its content
    /// coding.
    ///
    /// - Parameters:
    ///   - response: the answer as it came from the network.
    ///   - wasAsked: false for a proof that was sent unasked, perhaps for a resource that needs none.
    /// - Returns: the response. Its body may end in an error if it is not the one that the server's proof covers.
    /// - Throws: `LoadError.Code.serverNotAuthenticated`.
    func accepted(by response: LoadResponse, wasAsked: Bool) async throws(LoadError) -> LoadResponse
}

/// The proofs of one request to server and proxy.
struct RequestSignatures: RequestSigner {
    /// The proof for one of them.
    struct Part: Sendable {
        let signature: any RequestSignature
        let wasAsked: Bool
        /// Whose proof it is, in the realm and by the method.
        let user: Redacted<[UInt8]>?

        func examined(_ response: LoadResponse) async throws(LoadError) -> LoadResponse {
            guard await signature.isMade else { return response }
            return try await signature.accepted(by: response, wasAsked: wasAsked)
        }
    }

    private let server: Part?
    private let proxy: Part?
    /// Whether the proxy sees requests and answers; false for one that only makes a tunnel.
    private let isForwarded: Bool

    /// Nil if there are no proofs to make.
    init?(server: Part?, proxy: Part?, isForwarded: Bool) {
        guard server != nil || proxy != nil else { return nil }
        self.server = server
        self.proxy = proxy
        self.isForwarded = isForwarded
    }

    var proxyUser: Redacted<[UInt8]>? { proxy?.user }

    func sign(_ fields: inout HTTPFields) async {
        if let field = await server?.signature.make() { fields[.authorization] = field.reveal() }
        if let field = await proxy?.signature.make() { fields[.proxyAuthorization] = field.reveal() }
    }

    /// A challenge accepts no proof, and is never stored. A server's challenge has passed the proxy, which has accepted
    /// its own.
    func examined(_ response: LoadResponse) async throws(LoadError) -> LoadResponse {
        guard !isForwarded || response.head.status != .proxyAuthenticationRequired else { return response }
        var response = response
        if isForwarded, let proxy { response = try await proxy.examined(response) }
        if response.head.status != .unauthorized, let server { response = try await server.examined(response) }
        return response
    }
}
