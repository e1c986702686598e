internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Carries out what ``Negotiation`` decides, for one load and one server or proxy: asks the app and the credential
/// storage, and has the schemes make proofs.
struct Negotiator {
    /// The authentication of the next request.
    struct Reply {
        let space: ProtectionSpace
        /// The value of the field; nil if ``Negotiator/signature`` makes it.
        let field: Redacted<String>?
    }

    let challenger: Challenger
    private let original: LoadRequest
    let principal: Principal
    let responder: (any ChallengeResponder)?
    let preferences: MethodPreferences
    let deadline: ContinuousClock.Instant
    let permission: (any SessionPermission)?
    private let place: ConnectionPlace
    /// Whether the connection leads to a proxy that forwards requests, possibly over a different connection to the
    /// server each time.
    let isForwarded: Bool
    let stage: AuthenticationStage
    /// The storage's generation when the negotiation began.
    private let generation: UInt64
    private(set) var negotiation = Negotiation()
    /// The session of the last answer's space; nil if its scheme sends the same in each request.
    private var session: (any AuthenticationSession)?
    /// Makes the proof of the next request, and made that of the last one.
    private(set) var signature: (any RequestSignature)?
    /// Whose proofs ``signature`` makes, also after the first of them was accepted.
    private var user: Redacted<[UInt8]>?
    /// The connection over which the last answer came.
    private var lastConnection: ConnectionFacts?
    /// The space of a Basic challenge that was skipped because the connection is not encrypted; nil if another scheme
    /// answered.
    private(set) var withheld: ProtectionSpace?

    init(
        with challenger: Challenger, _ request: LoadRequest, isForwarded: Bool, in context: LoadContext,
        by stage: AuthenticationStage
    ) {
        self.challenger = challenger
        original = request
        principal = context.principal
        responder = context.responder
        preferences = context.methods
        deadline = context.deadline
        permission = context.permission
        place = ConnectionPlace(session: context.session, limit: context.connectionsPerOrigin)
        self.isForwarded = isForwarded
        self.stage = stage
        generation = stage.credentials.generation
    }

    var credentials: CredentialStorage { stage.credentials }

    // MARK: Without a challenge

    /// The authentication that the first request carries unasked. None if the request has a credential of its own for
    /// another user than the one that is known there: which space it is meant for, the challenge tells.
    mutating func first() async throws(LoadError) -> Redacted<String>? {
        let known: CredentialStorage.Known? =
            switch challenger.kind {
            case .server: await credentials.known(for: original.url, of: principal)
            case .proxy: await credentials.known(forProxy: challenger.origin, of: principal)
            }
        guard let known, known.isOf(challenger.credential), mayUse(known.space.method) else { return nil }
        session = known.session
        let offer = Negotiation.Offer(space: known.space, offered: OfferedScheme(name: known.space.method.name))
        do throws(LoadError) {
            return try await authorization(
                Negotiation.Answer(offer: offer, credential: known.credential, leg: .unasked))
        } catch {
            // There was no challenge yet: the request goes without the credential, and the server may send a challenge.
            guard error.code == .credentialRefused else { throw error }
            await credentials.refused(known.credential, for: known.space, of: principal)
            negotiation.refusedUnasked(known.credential)
            return nil
        }
    }

    // MARK: Challenges

    /// The answer to a challenge; nil if the response with the challenge is the load's result.
    ///
    /// - Parameter isSent: whether the server has received the request, and perhaps its body.
    /// - Throws: ``LoadError/Code/bodyNotReplayable`` if the body was sent already and can be read only once.
    mutating func reply(to head: HTTPResponse, isSent: Bool) async throws(LoadError) -> Reply? {
        let offers = await offers(of: head)
        var step = negotiation.challenged(by: offers)
        while true {
            switch step {
            case .examine(let offered): step = negotiation.examined(await examine(offered))
            case .drop(let answer):
                await session?.refused(answer.credential)
                await credentials.refused(answer.credential, for: answer.space, of: principal)
                step = negotiation.next()
            case .find(let offer, let failureCount):
                step = negotiation.found(try await find(offer, after: failureCount, head))
            case .say(let answer):
                guard let reply = try await say(answer, isSent: isSent) else {
                    step = negotiation.challenged(by: offers)
                    continue
                }
                return reply
            case .end:
                if !negotiation.isExhausted { try await takeNoteOfEnd(head) }
                return nil
            }
        }
    }

    /// What became of the last answer.
    private func examine(_ offered: OfferedScheme?) async -> Negotiation.Verdict {
        if let offered, let dialogue, dialogue.goesOn(with: offered, over: lastConnection) { return .goesOn }
        // A scheme without a session sends the same in each request, so the server has seen the credential.
        guard session != nil else { return .refused }
        guard let signature, await signature.isMade else { return .unsaid(isDialogue: dialogue != nil) }
        if let offered, await signature.isOutdated(by: offered) { return .outdated }
        return .refused
    }

    /// - Returns: nil if the issuer of proofs, such as a KDC, refused the credential before the server has seen it.
    private mutating func say(_ answer: Negotiation.Answer, isSent: Bool) async throws(LoadError) -> Reply? {
        if answer.leg == .next { return Reply(space: answer.space, field: nil) }
        try await check(answer.credential, for: answer.space, isSent: isSent)
        let (space, offered) = (answer.space, answer.offer.offered)
        session = await credentials.session(for: space, of: principal) { [stage, principal] in
            stage.schemes[space.method]?.makeSession(offered, in: space, of: principal)
        }
        await session?.challenged(by: offered, over: lastConnection?.channelBinding)
        do throws(LoadError) {
            return Reply(space: space, field: try await authorization(answer))
        } catch {
            guard error.code == .credentialRefused else { throw error }
            negotiation.refusedBefore(answer)
            await credentials.refused(answer.credential, for: space, of: principal)
            return nil
        }
    }

    private mutating func takeNoteOfEnd(_ head: HTTPResponse) async throws(LoadError) {
        try checkSupport(head)
        withheld = await passedOver(in: head)
    }

    private func check(
        _ credential: Credential, for space: ProtectionSpace, isSent: Bool
    ) async throws(LoadError) {
        try await credentials.check(credential, for: space, of: principal)
        guard !isSent || original.body?.isReplayable ?? true else {
            throw LoadError(
                .bodyNotReplayable, at: .response,
                "The \(challenger.kind) requires authentication for a body that was sent and cannot be read again.")
        }
    }

    // MARK: Requests

    /// The proof of the next request, if one is made when it is sent.
    var proof: RequestSignatures.Part? {
        signature.map { RequestSignatures.Part(signature: $0, wasAsked: negotiation.wasAsked, user: user) }
    }

    private static func user(of answer: Negotiation.Answer) -> Redacted<[UInt8]> {
        let names = [answer.space.method.name, answer.space.realm ?? "", answer.credential.user]
        return Redacted(Array(names.joined(separator: "\n").utf8))
    }

    /// - Returns: the value of the field; nil if ``signature`` makes it, and if nothing may be sent.
    private mutating func authorization(_ answer: Negotiation.Answer) async throws(LoadError) -> Redacted<String>? {
        dialogue?.letGo()
        signature = nil
        guard let scheme = await scheme(for: answer.space) else { return nil }
        negotiation.said(answer)
        user = Self.user(of: answer)
        guard let session else {
            return try scheme.authorization(answering: answer.offer.offered, with: answer.credential, for: original)
        }
        if let session = session as? any ConnectionSession {
            signature = try await session.dialogue(
                by: scheme, for: original, with: answer.credential, at: place, isFresh: answer.leg != .unasked,
                until: deadline)
        } else {
            signature = try await session.signature(
                for: original, to: challenger.kind, with: answer.credential, until: deadline)
        }
        return nil
    }

    // MARK: Connections

    private var dialogue: (any ConnectionDialogue)? { signature as? any ConnectionDialogue }

    /// The connection for the next request, if it needs one that is authenticated for the user.
    var connection: ConnectionUse? { dialogue?.use }

    var isBodyless: Bool { dialogue?.isBodyless ?? false }

    mutating func heard(_ response: LoadResponse) {
        if let hop = response.facts.hops.last { lastConnection = hop.connection }
    }

    /// Answers again after the dialogue's connection was lost: over another one, from the first message.
    mutating func replyAfterLoss() async throws(LoadError) -> Reply? {
        guard dialogue != nil, let answer = negotiation.lost() else { return nil }
        return Reply(space: answer.space, field: try await authorization(answer))
    }

    /// The last answer's space, if the server accepted the request without authenticating the user, and its body has
    /// not been sent yet; else nil.
    func spaceOfWhole() -> ProtectionSpace? {
        guard let last = negotiation.last, let dialogue, dialogue.mustSendWhole() else { return nil }
        return last.space
    }

    // MARK: Success

    /// The load got a response that is not a challenge; any answer to its proof was examined.
    mutating func succeeded() async {
        guard let last = negotiation.succeeded() else { return }
        // What was sent unasked went to a path that was already known.
        let learnsScopes = challenger.kind == .server && negotiation.wasAsked
        guard let session else {
            let scope = learnsScopes ? stage.schemes[last.space.method]?.scope(of: original.url) : nil
            await credentials.accepted(
                last.credential, for: last.space, of: principal, scopes: scope.map { [$0] } ?? [],
                since: generation)
            return
        }
        // No proof was made for a response from the cache.
        guard let signature, await signature.isMade else { return }
        let scopes = learnsScopes ? await session.scopes(of: original.url) : []
        await credentials.accepted(
            last.credential, for: last.space, of: principal, scopes: scopes, needsSession: true, since: generation)
    }
}
