internal import HTTPTypes
package import SallyportBase
package import SallyportCore
package import SallyportLoading

/// What a scheme keeps of one protection space between requests, where each has a proof of its own. One for a principal
/// and a space, whatever number of loads use it at once.
package protocol AuthenticationSession: AnyObject, Sendable {
    /// The server asked.
    func challenged(by offered: OfferedScheme)
    /// What proofs over the connection of that question may be bound to; nil where it has no TLS of the server's.
    func challenged(over binding: ChannelBinding?)
    /// Gets ready to prove who makes `request`.
    ///
    /// - Parameter deadline: the load's, for a scheme that asks somebody else, who may take longer.
    /// - Throws: ``LoadError/Code/invalidRequest`` for a credential that cannot be sent by this scheme; what reading the
    ///   body throws, where the proof covers it.
    func signature(
        for request: LoadRequest, to kind: ProtectionSpace.Kind, with credential: Credential,
        until deadline: ContinuousClock.Instant
    ) async throws(LoadError) -> any RequestSignature
    /// The paths below which what was accepted for `url` may be sent unasked.
    func scopes(of url: RequestURL) -> [String]
    /// The server refused a credential.
    func refused(_ credential: Credential)
    /// It was cleared: whatever goes on goes on, and nothing is kept from here on.
    func end()
}

extension AuthenticationSession {
    package func challenged(over binding: ChannelBinding?) {}
    package func refused(_ credential: Credential) {}
    package func end() {}
}

/// The proof of one request, made when the request is sent, and anew where it is sent again.
package protocol RequestSignature: AnyObject, Sendable {
    /// What `Authorization` says; nil where nothing can be proved before the server has asked once more.
    func make() -> Redacted<String>?
    /// Whether ``make()`` gave something: the server has seen it, and its answer is one to it.
    var isMade: Bool { get }
    /// Whether the challenge says that only the proof was too old.
    func isOutdated(by offered: OfferedScheme) -> Bool
    /// Learns from an answer by whoever accepted the proof.
    ///
    /// - Parameter wasAsked: false for a proof that was sent unasked, maybe for what is everybody's.
    /// - Returns: the answer; its body may end in an error where it is not the one that the server vouched for.
    /// - Throws: ``LoadError/Code/serverNotAuthenticated``.
    func accepted(by response: LoadResponse, wasAsked: Bool) throws(LoadError) -> LoadResponse
}

/// The proofs of one request to server and proxy.
final class RequestSignatures: RequestSigner {
    private let server: (any RequestSignature)?
    private let proxy: (any RequestSignature)?

    /// Nil where there is nothing to make.
    init?(server: (any RequestSignature)?, proxy: (any RequestSignature)?) {
        guard server != nil || proxy != nil else { return nil }
        self.server = server
        self.proxy = proxy
    }

    func sign(_ fields: inout HTTPFields) {
        if let field = server?.make() { fields[.authorization] = field.reveal() }
        if let field = proxy?.make() { fields[.proxyAuthorization] = field.reveal() }
    }
}
