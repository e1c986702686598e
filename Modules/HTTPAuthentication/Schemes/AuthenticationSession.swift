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
    ///   for one that is known to be wrong; the error of reading the body, if the proof covers it. Cancelled with the
    ///   load.
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
    public func refused(_ credential: Credential) async {}
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

    /// Examines a response of the server or proxy that accepted the proof.
    ///
    /// - Parameters:
    ///   - response: its `fieldsSentNow` are the fields of this very answer.
    ///   - wasAsked: false for a proof that was sent unasked, perhaps for a resource that needs none.
    /// - Returns: the response. Its body may end in an error if it is not the one that the server's proof covers.
    /// - Throws: `LoadError.Code.serverNotAuthenticated`.
    func accepted(by response: LoadResponse, wasAsked: Bool) async throws(LoadError) -> LoadResponse
}

/// A proof whose answer covers the body that was sent with it, and so has to be checked before a cache puts a stored body
/// in its place.
protocol BodyCoveringSignature: RequestSignature {
    /// Checks an answer as it came from the network. ``RequestSignature/accepted(by:wasAsked:)`` does not check it again.
    ///
    /// - Throws: `LoadError.Code.serverNotAuthenticated`.
    func examined(_ response: LoadResponse) async throws(LoadError) -> LoadResponse
}

/// The proofs of one request to server and proxy.
struct RequestSignatures: RequestSigner {
    private let server: (any RequestSignature)?
    private let proxy: (any RequestSignature)?
    /// Whether the proxy sees requests and answers; false for one that only makes a tunnel.
    private let isForwarded: Bool

    /// Nil if there are no proofs to make.
    init?(server: (any RequestSignature)?, proxy: (any RequestSignature)?, isForwarded: Bool) {
        guard server != nil || proxy != nil else { return nil }
        self.server = server
        self.proxy = proxy
        self.isForwarded = isForwarded
    }

    func sign(_ fields: inout HTTPFields) async {
        if let field = await server?.make() { fields[.authorization] = field.reveal() }
        if let field = await proxy?.make() { fields[.proxyAuthorization] = field.reveal() }
    }

    /// A challenge accepts no proof, and is never stored.
    func examined(_ response: LoadResponse) async throws(LoadError) -> LoadResponse {
        guard ![401, 407].contains(response.head.status.code) else { return response }
        var response = response
        if isForwarded, let proxy = proxy as? any BodyCoveringSignature {
            response = try await proxy.examined(response)
        }
        if let server = server as? any BodyCoveringSignature { response = try await server.examined(response) }
        return response
    }
}
