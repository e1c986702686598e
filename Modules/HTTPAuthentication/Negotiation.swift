internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// The challenges and answers of one load with one server or proxy.
struct Negotiation {
    /// A challenge, and the credential that answers it.
    struct Answer {
        let space: ProtectionSpace
        let offered: OfferedScheme
        let credential: Credential
        /// Nil where the answer is the same for each request.
        var session: (any AuthenticationSession)?
        /// How it comes to be, where it is a connection that is proved for.
        var leg = Leg.first
    }

    enum Leg {
        /// What the server was told before may hold.
        case first
        /// The server does not know the user.
        case fresh
        /// The next one of the same dialogue.
        case next
    }

    /// How often a proof that was only too old is made anew; after that it counts as refused.
    static let renewalLimit = 3
    /// How often a proof for a connection that went away is made anew, for another.
    static let lossLimit = 3

    let challenger: Challenger
    private let original: LoadRequest
    let principal: Principal
    let responder: (any ChallengeResponder)?
    let preferences: MethodPreferences
    private let deadline: ContinuousClock.Instant
    private let place: ConnectionPlace
    /// Whether the connection is a proxy's, who may send what comes over it to the server over any.
    let isForwarded: Bool
    let stage: AuthenticationStage
    /// What the last request said.
    private var last: Answer?
    /// What proves the next request, and has proved the last one.
    private(set) var signature: (any RequestSignature)?
    /// Of the connection that asked last.
    private var binding: ChannelBinding?
    private var renewals = 0
    private var losses = 0
    private var answers = 0
    private(set) var failures: [ProtectionSpace: Int] = [:]
    private var refused: [ProtectionSpace: [Credential]] = [:]
    private(set) var rejected: Set<ProtectionSpace> = []
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

    // MARK: Requests

    /// What the first request says unasked.
    mutating func first() async throws(LoadError) -> Redacted<String>? {
        let known =
            switch challenger.kind {
            case .server: credentials.known(for: original.url, of: principal)
            case .proxy: credentials.known(forProxy: challenger.origin, of: principal)
            }
        guard let known else { return nil }
        let offered = OfferedScheme(name: known.space.method.name)
        let session = credentials.session(for: known.space, of: principal)
        do throws(LoadError) {
            return try await authorization(
                Answer(space: known.space, offered: offered, credential: known.credential, session: session))
        } catch {
            // Nobody asked yet: the server is asked without, and says what it wants.
            guard error.code == .credentialRefused else { throw error }
            forget(known.credential, for: known.space)
            return nil
        }
    }

    /// - Returns: what the request says; nil where ``signature`` says it.
    mutating func authorization(_ answer: Answer) async throws(LoadError) -> Redacted<String>? {
        if answer.leg == .next { return nil }
        dialogue?.letGo()
        signature = nil
        guard let scheme = scheme(for: answer.space) else { return nil }
        last = answer
        guard let session = answer.session else {
            return try scheme.authorization(answering: answer.offered, with: answer.credential, for: original)
        }
        if let session = session as? any ConnectionSession {
            signature = try await session.dialogue(
                by: scheme, for: original, with: answer.credential, at: place, isFresh: answer.leg == .fresh,
                until: deadline)
        } else {
            signature = try await session.signature(
                for: original, to: challenger.kind, with: answer.credential, until: deadline)
        }
        return nil
    }

    /// What answers a challenge, and what it says; nil where the answer that asks is the load's.
    ///
    /// Who is refused by whoever vouches for users, before the server has heard of them, is refused.
    mutating func nextAnswer(
        to head: HTTPResponse, isSent: Bool
    ) async throws(LoadError) -> (space: ProtectionSpace, field: Redacted<String>?)? {
        while let answer = try await answer(to: head, isSent: isSent) {
            do throws(LoadError) {
                return (answer.space, try await authorization(answer))
            } catch {
                guard error.code == .credentialRefused else { throw error }
                failures[answer.space, default: 0] += 1
                refused[answer.space, default: []].append(answer.credential)
                forget(answer.credential, for: answer.space)
            }
        }
        return nil
    }

    private mutating func forget(_ credential: Credential, for space: ProtectionSpace) {
        credentials.refused(credential, for: space, of: principal)
        last = nil
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
    mutating func nextAnswerAfterLoss() async throws(LoadError) -> (
        space: ProtectionSpace, field: Redacted<String>?
    )? {
        guard let last, dialogue != nil, losses < Self.lossLimit else { return nil }
        losses += 1
        let answer = Answer(
            space: last.space, offered: last.offered, credential: last.credential, session: last.session, leg: .fresh)
        return (last.space, try await authorization(answer))
    }

    /// Nil unless the server wanted to know nobody, and has had no body yet.
    func spaceOfWhole() -> ProtectionSpace? {
        guard let last, let dialogue, dialogue.mustSendWhole() else { return nil }
        return last.space
    }

    /// The next leg; nil where the challenge is none.
    private func nextLeg(_ offers: [(space: ProtectionSpace, offered: OfferedScheme)]) -> Answer? {
        guard let last, let dialogue,
            let offered = offers.first(where: { $0.space == last.space })?.offered, dialogue.goesOn(with: offered)
        else { return nil }
        return Answer(
            space: last.space, offered: offered, credential: last.credential, session: last.session, leg: .next)
    }

    /// A server that does not go on where it has begun is asked no second time.
    private mutating func takeNoteOfBreak() {
        guard let last, let dialogue, !dialogue.isMade else { return }
        rejected.insert(last.space)
    }

    // MARK: Challenges

    /// What the next request says; nil where the answer that asks is the load's.
    ///
    /// - Parameter isSent: the server has had the request, and maybe its body.
    /// - Throws: ``LoadError/Code/bodyNotReplayable`` where the body was sent already and can be read once only.
    mutating func answer(to head: HTTPResponse, isSent: Bool) async throws(LoadError) -> Answer? {
        let offers = offers(of: head)
        guard answers < AuthenticationStage.limit else {
            takeNoteOfFailure()
            return nil
        }
        if let next = nextLeg(offers) {
            answers += 1
            return next
        }
        takeNoteOfBreak()
        if let renewed = renewed(by: offers) {
            try check(renewed.credential, for: renewed.space, isSent: isSent)
            answers += 1
            return renewed
        }
        takeNoteOfFailure()
        for (space, offered) in offers {
            guard !rejected.contains(space), let credential = try await credential(for: space, head) else { continue }
            try check(credential, for: space, isSent: isSent)
            answers += 1
            return answer(offered, in: space, with: credential)
        }
        try checkSupport(head)
        withheld = passedOver(in: head)
        return nil
    }

    /// What was said is said again where it was only too old.
    private mutating func renewed(by offers: [(space: ProtectionSpace, offered: OfferedScheme)]) -> Answer? {
        guard let last, let signature, signature.isMade, renewals < Self.renewalLimit,
            let offered = offers.first(where: { $0.space == last.space })?.offered, signature.isOutdated(by: offered)
        else { return nil }
        renewals += 1
        return answer(offered, in: last.space, with: last.credential)
    }

    private func answer(_ offered: OfferedScheme, in space: ProtectionSpace, with credential: Credential) -> Answer {
        let session = credentials.session(for: space, of: principal) {
            stage.schemes[space.method]?.makeSession(offered, in: space, of: principal)
        }
        session?.challenged(by: offered)
        session?.challenged(over: binding)
        return Answer(space: space, offered: offered, credential: credential, session: session, leg: .fresh)
    }

    private mutating func takeNoteOfFailure() {
        guard let last else { return }
        // Nothing was said yet: the request never came to be sent, or had no proof.
        guard last.session == nil || signature?.isMade == true else {
            self.last = nil
            return
        }
        last.session?.refused(last.credential)
        failures[last.space, default: 0] += 1
        refused[last.space, default: []].append(last.credential)
        credentials.refused(last.credential, for: last.space, of: principal)
        self.last = nil
    }

    /// Nil where this space is passed over.
    private mutating func credential(
        for space: ProtectionSpace, _ head: HTTPResponse
    ) async throws(LoadError) -> Credential? {
        let failureCount = failures[space] ?? 0
        let scheme = stage.schemes[space.method]
        // Who answers without being asked stands behind what the app says for this request.
        if failureCount == 0, challenger.credential == nil,
            let credential = try await scheme?.credentialAtHand(in: space, of: principal)
        {
            return credential
        }
        let proposed = challenger.credential ?? credentials.credential(for: space, of: principal)
        let challenge = AuthenticationChallenge(
            protectionSpace: space, proposedCredential: proposed, previousFailureCount: failureCount,
            failureResponse: head)
        switch try await disposition(of: challenge) {
        case .use(let credential): return unlessRefused(credential, in: space, by: scheme)
        case .performDefaultHandling, .notImplemented:
            return proposed.flatMap { unlessRefused($0, in: space, by: scheme) }
        case .rejectProtectionSpace:
            rejected.insert(space)
            return nil
        case .trust, .present:
            throw LoadError(.invalidRequest, at: .response, "The answer is not one to the challenge of \(space).")
        case .cancel:
            throw LoadError(.authenticationCancelled, at: .response, "The app cancelled the challenge of \(space).")
        }
    }

    /// Once more what was refused would be a loop.
    private func unlessRefused(
        _ credential: Credential, in space: ProtectionSpace, by scheme: (any AuthenticationScheme)?
    ) -> Credential? {
        guard scheme?.takes(credential) ?? true else { return nil }
        let isRefused = refused[space]?.contains { $0.user == credential.user && $0.password == credential.password }
        return isRefused == true ? nil : credential
    }

    /// Waits for the app until the load's deadline; its task is cancelled then.
    private func disposition(of challenge: AuthenticationChallenge) async throws(LoadError) -> ChallengeDisposition {
        guard let responder else { return .notImplemented }
        let disposition = await untilDeadline(deadline) { await responder.respond(to: challenge) }
        if Task.isCancelled { throw .cancelled() }
        guard let disposition else {
            throw LoadError(.resourceTimeout, at: .response, "The challenge was not answered in the time for the load.")
        }
        return disposition
    }

    private func check(
        _ credential: Credential, for space: ProtectionSpace, isSent: Bool
    ) throws(LoadError) {
        try credentials.check(credential, for: space, of: principal)
        guard !isSent || original.body?.isReplayable ?? true else {
            throw LoadError(
                .bodyNotReplayable, at: .response,
                "The \(challenger.kind) wants to know who sends the body, which can be read once only and was sent.")
        }
    }

    /// Nothing more was asked.
    ///
    /// - Parameter response: what whoever accepted the answer says; nil where they cannot say anything.
    /// - Throws: ``LoadError/Code/serverNotAuthenticated``.
    mutating func succeeded(_ response: LoadResponse?) throws(LoadError) -> LoadResponse? {
        guard let last else { return response }
        self.last = nil
        guard let session = last.session else {
            let scope = stage.schemes[last.space.method]?.scope(of: original.url)
            credentials.accepted(last.credential, for: last.space, of: principal, scopes: scope.map { [$0] } ?? [])
            return response
        }
        // What the cache answers has seen no proof.
        guard let signature, signature.isMade else { return response }
        let wasAsked = answers > 0
        let checked = try response.map { (response) throws(LoadError) in
            try signature.accepted(by: response, wasAsked: wasAsked)
        }
        // What was sent unasked went where it was known to hold.
        let scopes = challenger.kind == .server && wasAsked ? session.scopes(of: original.url) : []
        credentials.accepted(last.credential, for: last.space, of: principal, scopes: scopes)
        return checked
    }
}
