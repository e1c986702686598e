internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Carries out what ``Negotiation`` decides, for one load with one server or proxy: asks the app and the credentials, and
/// has schemes prove.
struct Negotiator {
    /// What the next request says.
    struct Reply {
        let space: ProtectionSpace
        /// Nil where ``Negotiator/signature`` says it.
        let field: Redacted<String>?
    }

    let challenger: Challenger
    private let original: LoadRequest
    let principal: Principal
    let responder: (any ChallengeResponder)?
    let preferences: MethodPreferences
    let deadline: ContinuousClock.Instant
    private let place: ConnectionPlace
    /// Whether the connection is a proxy's, who may send what comes over it to the server over any.
    let isForwarded: Bool
    let stage: AuthenticationStage
    private(set) var negotiation = Negotiation()
    /// Of the space of the last answer; nil where the answer is the same for each request.
    private var session: (any AuthenticationSession)?
    /// What proves the next request, and has proved the last one.
    private(set) var signature: (any RequestSignature)?
    /// Of the connection that asked last.
    private var binding: ChannelBinding?
    /// Where Basic was asked for and a password would have been readable; nil where something else answered.
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
        place = ConnectionPlace(session: context.session, limit: context.connectionsPerOrigin)
        self.isForwarded = isForwarded
        self.stage = stage
    }

    var credentials: CredentialStorage { stage.credentials }

    // MARK: Unasked

    /// What the first request says unasked.
    mutating func first() async throws(LoadError) -> Redacted<String>? {
        let known: CredentialStorage.Known? =
            switch challenger.kind {
            case .server: await credentials.known(for: original.url, of: principal)
            case .proxy: await credentials.known(forProxy: challenger.origin, of: principal)
            }
        guard let known else { return nil }
        session = known.session
        let offer = Negotiation.Offer(space: known.space, offered: OfferedScheme(name: known.space.method.name))
        do throws(LoadError) {
            return try await authorization(
                Negotiation.Answer(offer: offer, credential: known.credential, leg: .unasked))
        } catch {
            // Nobody asked yet: the server is asked without, and says what it wants.
            guard error.code == .credentialRefused else { throw error }
            await credentials.refused(known.credential, for: known.space, of: principal)
            negotiation.saidNothing()
            return nil
        }
    }

    // MARK: Challenges

    /// What answers a challenge, and what it says; nil where the answer that asks is the load's.
    ///
    /// - Parameter isSent: the server has had the request, and maybe its body.
    /// - Throws: ``LoadError/Code/bodyNotReplayable`` where the body was sent already and can be read once only.
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

    /// What became of that which was said last.
    private func examine(_ offered: OfferedScheme?) async -> Negotiation.Verdict {
        if let offered, let dialogue, dialogue.goesOn(with: offered) { return .goesOn }
        // What is the same for each request was said.
        guard session != nil else { return .refused }
        guard let signature, await signature.isMade else { return .unsaid(isDialogue: dialogue != nil) }
        if let offered, await signature.isOutdated(by: offered) { return .outdated }
        return .refused
    }

    /// - Returns: nil where whoever vouches for users refused the credential, before the server has heard of it.
    private mutating func say(_ answer: Negotiation.Answer, isSent: Bool) async throws(LoadError) -> Reply? {
        if answer.leg == .next { return Reply(space: answer.space, field: nil) }
        try await check(answer.credential, for: answer.space, isSent: isSent)
        let (space, offered) = (answer.space, answer.offer.offered)
        session = await credentials.session(for: space, of: principal) { [stage, principal] in
            stage.schemes[space.method]?.makeSession(offered, in: space, of: principal)
        }
        await session?.challenged(by: offered, over: binding)
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
                "The \(challenger.kind) wants to know who sends the body, which can be read once only and was sent.")
        }
    }

    // MARK: Requests

    /// - Returns: what the request says; nil where ``signature`` says it, and where nothing may be said.
    private mutating func authorization(_ answer: Negotiation.Answer) async throws(LoadError) -> Redacted<String>? {
        dialogue?.letGo()
        signature = nil
        guard let scheme = await scheme(for: answer.space) else { return nil }
        negotiation.said(answer)
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

    /// What the next request goes over, where it is a connection of the user's own.
    var connection: ConnectionUse? { dialogue?.use }

    var isBodyless: Bool { dialogue?.isBodyless ?? false }

    mutating func heard(_ response: LoadResponse) {
        guard let hop = response.facts.hops.last else { return }
        binding = hop.connection.channelBinding
        dialogue?.heard(hop.connection)
    }

    /// The connection is gone: the same over another, from its first leg.
    mutating func replyAfterLoss() async throws(LoadError) -> Reply? {
        guard dialogue != nil, let answer = negotiation.lost() else { return nil }
        return Reply(space: answer.space, field: try await authorization(answer))
    }

    /// Nil unless the server wanted to know nobody, and has had no body yet.
    func spaceOfWhole() -> ProtectionSpace? {
        guard let last = negotiation.last, let dialogue, dialogue.mustSendWhole() else { return nil }
        return last.space
    }

    // MARK: Success

    /// Nothing more was asked.
    ///
    /// - Parameter response: what whoever accepted the answer says; nil where they cannot say anything.
    /// - Throws: ``LoadError/Code/serverNotAuthenticated``.
    mutating func succeeded(_ response: LoadResponse?) async throws(LoadError) -> LoadResponse? {
        guard let last = negotiation.succeeded() else { return response }
        guard let session else {
            let scope = stage.schemes[last.space.method]?.scope(of: original.url)
            await credentials.accepted(
                last.credential, for: last.space, of: principal, scopes: scope.map { [$0] } ?? [])
            return response
        }
        // What the cache answers has seen no proof.
        guard let signature, await signature.isMade else { return response }
        var checked = response
        if let response {
            checked = try await signature.accepted(by: response, wasAsked: negotiation.wasAsked)
        }
        // What was sent unasked went where it was known to hold.
        let learnsScopes = challenger.kind == .server && negotiation.wasAsked
        let scopes = learnsScopes ? await session.scopes(of: original.url) : []
        await credentials.accepted(last.credential, for: last.space, of: principal, scopes: scopes)
        return checked
    }
}
