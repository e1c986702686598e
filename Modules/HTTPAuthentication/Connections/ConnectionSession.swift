package import SallyportCore
package import SallyportLoading

/// A protection space's state for a scheme that authenticates a connection once, in several legs.
package protocol ConnectionSession: AuthenticationSession {
    /// Prepares to authenticate the user of `request`, over a connection of the user's own.
    ///
    /// - Parameters:
    ///   - scheme: the scheme of the answering stage; other stages use the session too.
    ///   - isFresh: whether the server has just sent a challenge, so that no authenticated connection is used.
    /// - Throws: ``LoadError/Code/invalidRequest`` for a credential that this scheme cannot send;
    ///   ``LoadError/Code/cancelled`` and ``LoadError/Code/resourceTimeout`` while it waits for a connection.
    func dialogue(
        by scheme: any AuthenticationScheme, for request: LoadRequest, with credential: Credential,
        at place: ConnectionPlace, isFresh: Bool, until deadline: ContinuousClock.Instant
    ) async throws(LoadError) -> any ConnectionDialogue
}

extension ConnectionSession {
    package func signature(
        for request: LoadRequest, to kind: ProtectionSpace.Kind, with credential: Credential,
        until deadline: ContinuousClock.Instant
    ) async throws(LoadError) -> any RequestSignature {
        throw LoadError(.internalFailure, at: .request, "The scheme proves once for a connection.")
    }
}

/// The authentication of one load over one connection, from leg to leg.
package protocol ConnectionDialogue: RequestSignature {
    /// The connection for the next request.
    var use: ConnectionUse { get }
    /// Whether the next request is sent without its body: its answer can only be the next leg.
    var isBodyless: Bool { get }
    /// Whether the server's challenge continues the dialogue, so that the next request answers it.
    ///
    /// - Parameter connection: over which the challenge came.
    func goesOn(with offered: OfferedScheme, over connection: ConnectionFacts?) -> Bool
    /// The server accepted a request without its body, and sent no challenge.
    ///
    /// - Returns: whether the whole request must be sent now.
    func mustSendWhole() -> Bool
    /// Another dialogue replaces this one, and may wait for its connection.
    func letGo()
}
