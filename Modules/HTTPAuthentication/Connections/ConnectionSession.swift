package import SallyportCore
package import SallyportLoading

/// What a scheme keeps of one protection space that proves who asks once for a connection, in several legs.
package protocol ConnectionSession: AuthenticationSession {
    /// Gets ready to prove who makes `request`, over a connection of the user's own.
    ///
    /// - Parameters:
    ///   - scheme: that of the stage which answers; other stages use the session too.
    ///   - isFresh: the server has just asked: none of the connections that it knows the user of is taken.
    /// - Throws: ``LoadError/Code/invalidRequest`` for a credential that cannot be sent by this scheme;
    ///   ``LoadError/Code/cancelled`` and ``LoadError/Code/resourceTimeout``, where it waits for a connection.
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

/// One load's proof over one connection, from leg to leg.
package protocol ConnectionDialogue: RequestSignature {
    /// How the next request is sent.
    var use: ConnectionUse { get }
    /// The next request goes without its body: its answer can only be the next leg.
    var isBodyless: Bool { get }
    /// Learns what connection an answer came over.
    func heard(_ connection: ConnectionFacts)
    /// Whether the server's challenge is the next leg, which the next request answers.
    func goesOn(with offered: OfferedScheme) -> Bool
    /// The server answered a request without its body, and asked for nothing.
    ///
    /// - Returns: whether the whole request must be sent now.
    func mustSendWhole() -> Bool
    /// Another dialogue takes its place, and may wait for its connection.
    func letGo()
}
