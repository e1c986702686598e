internal import HTTPTypes
internal import SallyportCore

/// The challenges and answers of one load with one origin.
struct Negotiation {
    /// A challenge, and the credential that answers it.
    struct Answer {
        let space: ProtectionSpace
        let offered: OfferedScheme
        let credential: Credential
    }

    private let original: LoadRequest
    private let principal: Principal
    private let responder: (any ChallengeResponder)?
    private let deadline: ContinuousClock.Instant
    private let credentials: CredentialStorage
    private let schemes: [AuthenticationMethod: any AuthenticationScheme]
    /// What the last request said.
    private var last: Answer?
    private var answers = 0
    private var failures: [ProtectionSpace: Int] = [:]
    private var refused: [ProtectionSpace: [Credential]] = [:]
    private var rejected: Set<ProtectionSpace> = []

    init(
        _ request: LoadRequest, in context: LoadContext, credentials: CredentialStorage,
        schemes: [AuthenticationMethod: any AuthenticationScheme]
    ) {
        original = request
        principal = context.principal
        responder = context.responder
        deadline = context.deadline
        self.credentials = credentials
        self.schemes = schemes
    }

    // MARK: Requests

    /// The request as it is sent unasked.
    mutating func first() throws(LoadError) -> LoadRequest {
        guard let known = credentials.known(for: original.url, of: principal) else { return original }
        let offered = OfferedScheme(name: known.space.method.name)
        return try request(with: Answer(space: known.space, offered: offered, credential: known.credential))
    }

    /// - Throws: ``LoadError/Code/bodyNotReplayable`` where the body was sent already and can be read once only.
    mutating func request(with answer: Answer) throws(LoadError) -> LoadRequest {
        guard let scheme = schemes[answer.space.method] else { return original }
        var request = original
        request.headerFields[.authorization] = try scheme.authorization(
            answering: answer.offered, with: answer.credential, for: original
        ).reveal()
        last = answer
        return request
    }

    // MARK: Challenges

    /// What the next request says; nil where the server's answer is the load's.
    mutating func answer(to head: HTTPResponse) async throws(LoadError) -> Answer? {
        takeNoteOfFailure()
        guard answers < AuthenticationStage.limit else { return nil }
        for offered in ChallengeParser.parse(head.headerFields[values: .wwwAuthenticate]) {
            let method = AuthenticationMethod(offered.name)
            guard let scheme = schemes[method], scheme.takes(offered) else { continue }
            let space = ProtectionSpace(origin: original.url.origin, realm: offered.realm, method: method)
            guard !rejected.contains(space), let credential = try await credential(for: space, head) else { continue }
            try check(credential, for: space)
            answers += 1
            return Answer(space: space, offered: offered, credential: credential)
        }
        return nil
    }

    private mutating func takeNoteOfFailure() {
        guard let last else { return }
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
        let proposed = original.options.credential ?? credentials.credential(for: space, of: principal)
        let challenge = AuthenticationChallenge(
            protectionSpace: space, proposedCredential: proposed, previousFailureCount: failureCount,
            failureResponse: head)
        switch try await disposition(of: challenge) {
        case .use(let credential): return unlessRefused(credential, in: space)
        case .performDefaultHandling, .notImplemented: return proposed.flatMap { unlessRefused($0, in: space) }
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
    private func unlessRefused(_ credential: Credential, in space: ProtectionSpace) -> Credential? {
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

    private func check(_ credential: Credential, for space: ProtectionSpace) throws(LoadError) {
        try credentials.check(credential, for: space, of: principal)
        guard original.body?.isReplayable ?? true else {
            throw LoadError(
                .bodyNotReplayable, at: .response,
                "The server wants to know who sends the body, which can be read once only and was sent.")
        }
    }

    /// The server asked for nothing more.
    func succeeded() {
        guard let last else { return }
        let scope = schemes[last.space.method]?.scope(of: original.url)
        credentials.accepted(last.credential, for: last.space, of: principal, scope: scope)
    }
}
