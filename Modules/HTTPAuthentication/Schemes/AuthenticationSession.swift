internal import HTTPTypes
public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// What a scheme keeps of one protection space between requests, where each has a proof of its own. One for a principal
/// and a space, whatever number of loads use it at once: an actor, as a rule.
public protocol AuthenticationSession: AnyObject, Sendable {
    /// The server asked.
    ///
    /// - Parameter binding: what proofs over the connection of that question may be bound to; nil where it has no TLS of
    ///   the server's.
    func challenged(by offered: OfferedScheme, over binding: ChannelBinding?) async

    /// Gets ready to prove who makes `request`.
    ///
    /// - Parameters:
    ///   - kind: who asked, the server or a proxy.
    ///   - deadline: the load's, for a scheme that asks somebody else, who may take longer.
    /// - Throws: ``LoadError/Code/invalidRequest`` for a credential that cannot be sent by this scheme; `credentialRefused`
    ///   for one that is known to be wrong; what reading the body throws, where the proof covers it. Cancelled with the
    ///   load.
    func signature(
        for request: LoadRequest, to kind: ProtectionSpace.Kind, with credential: Credential,
        until deadline: ContinuousClock.Instant
    ) async throws(LoadError) -> any RequestSignature

    /// The paths below which what was accepted for `url` may be sent unasked.
    func scopes(of url: RequestURL) async -> [String]

    /// The server refused a credential.
    func refused(_ credential: Credential) async

    /// It was cleared: whatever goes on goes on, and nothing is kept from here on.
    func end() async
}

extension AuthenticationSession {
    public func refused(_ credential: Credential) async {}
    public func end() async {}
}

/// The proof of one request, made when the request is sent, and anew where it is sent again. Used by one load, which may
/// send its request behind an answer out of the cache too.
public protocol RequestSignature: AnyObject, Sendable {
    /// What `Authorization` says; nil where nothing can be proved before the server has asked once more.
    func make() async -> Redacted<String>?

    /// Whether ``make()`` gave something: the server has seen it, and its answer is one to it.
    var isMade: Bool { get async }

    /// Whether the challenge says that only the proof was too old: another is made then, three times in one load at most.
    func isOutdated(by offered: OfferedScheme) async -> Bool

    /// Learns from an answer by whoever accepted the proof, whose fields are ``LoadResponse/fieldsSentNow``.
    ///
    /// - Parameter wasAsked: false for a proof that was sent unasked, maybe for what is everybody's.
    /// - Returns: the answer; its body may end in an error where it is not the one that the server vouched for.
    /// - Throws: ``LoadError/Code/serverNotAuthenticated``.
    func accepted(by response: LoadResponse, wasAsked: Bool) async throws(LoadError) -> LoadResponse
}

/// The proofs of one request to server and proxy.
struct RequestSignatures: RequestSigner {
    private let server: (any RequestSignature)?
    private let proxy: (any RequestSignature)?

    /// Nil where there is nothing to make.
    init?(server: (any RequestSignature)?, proxy: (any RequestSignature)?) {
        guard server != nil || proxy != nil else { return nil }
        self.server = server
        self.proxy = proxy
    }

    func sign(_ fields: inout HTTPFields) async {
        if let field = await server?.make() { fields[.authorization] = field.reveal() }
        if let field = await proxy?.make() { fields[.proxyAuthorization] = field.reveal() }
    }
}
