internal import HTTPTypes
internal import Logging
internal import SallyportBase
public import SallyportCore
public import SallyportLoading

/// Answers the challenges of servers and of proxies (RFC 9110 §11), and sends a credential that a server has accepted
/// before without waiting for a challenge, if its scheme allows that.
///
/// The methods that the server offers, this stage knows and the administrator allows are tried in the server's order,
/// or from the strongest on if the session prefers that. The app is asked about each; if it rejects one, the next is
/// tried. Over plain http, Basic is skipped unless the app allows it. A request with its own `Authorization` field is
/// passed on unchanged, and so is the server's response to it. A refused credential is not sent again in the same load,
/// and one load answers at most 10 challenges.
public struct AuthenticationStage: LoadStage {
    let credentials: CredentialStorage
    let schemes: [AuthenticationMethod: any AuthenticationScheme]
    private let connectionMethods: Set<AuthenticationMethod>
    private let gate: (any AccessGate)?

    /// Knows NTLM, of which only NTLMv2 is answered, Digest and Basic.
    ///
    /// - Parameters:
    ///   - credentials: keeps what servers accepted; sessions may share it.
    ///   - gate: decides which schemes may be used; without one, all may.
    public init(credentials: CredentialStorage, gate: (any AccessGate)? = nil) {
        self.init(credentials: credentials, gate: gate, schemes: [NTLMScheme(), DigestScheme(), BasicScheme()])
    }

    /// Knows these schemes and no others; if two have the same method, the first is used.
    ///
    /// - Parameters:
    ///   - credentials: keeps what servers accepted; sessions may share it.
    ///   - gate: decides which of them may be used; if nil, all may.
    ///   - schemes: answer the challenges, in the order in which the server offers their methods.
    public init(
        credentials: CredentialStorage, gate: (any AccessGate)? = nil, schemes: [any AuthenticationScheme]
    ) {
        self.credentials = credentials
        self.gate = gate
        self.schemes = Dictionary(schemes.map { ($0.method, $0) }) { first, _ in first }
        connectionMethods = Set(schemes.filter { $0 is any ConnectionScheme }.map(\.method))
    }

    /// Whether the scheme of a method authenticates a whole connection rather than each request.
    func isOfConnection(_ method: AuthenticationMethod) -> Bool { connectionMethods.contains(method) }

    /// The scheme of a method, if it is known here and currently allowed.
    func scheme(of method: AuthenticationMethod) -> (any AuthenticationScheme)? {
        guard let scheme = schemes[method], gate?.allows(method) ?? true else { return nil }
        return scheme
    }

    public func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        guard mayBeginUnasked(request, in: context) else {
            return try await pass(request, by: quiet(request), in: context, next: next)
        }
        var conversation = Conversation(request, in: context, by: self)
        let request = try await conversation.first()
        let attempt = try await Attempt(request, in: signed(context, conversation), next)
        return try await goOn(conversation, after: attempt, in: context, next)
    }

    /// Most loads pass: there is no credential to send and no challenge.
    public func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage {
        mayBeginUnasked(request, in: context) ? .runs : quiet(request)
    }

    /// The app itself handles the answer to a request with its own field.
    private func quiet(_ request: LoadRequest) -> LoadPassage {
        .passes(watching: request.headerFields.contains(.authorization) ? [] : .unauthorized)
    }

    /// Answers the first challenge of a server, and the following ones.
    public func answered(
        _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
        next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        let conversation = Conversation(request, in: context, by: self)
        return try await goOn(conversation, after: .answered(response), in: context, next)
    }

    /// Whether a credential may be sent before a challenge. A proxy's challenge may be a failure, which stages that
    /// pass do not see.
    private func mayBeginUnasked(_ request: LoadRequest, in context: LoadContext) -> Bool {
        guard context.hasNoProxies else { return true }
        return !credentials.knowsNobody && !request.headerFields.contains(.authorization)
    }

    /// Answers challenges until there are no more.
    private func goOn(
        _ begun: Conversation, after first: Attempt, in context: LoadContext, _ next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        var (conversation, attempt) = (begun, first)
        var (hops, followsChallenge): ([HopFacts], Bool) = ([], false)
        while true {
            switch try await step(after: attempt, &conversation, in: context) {
            case .result(var response):
                response.facts.hops = hops + response.facts.hops
                response.facts.followsChallenge = followsChallenge
                return response
            case .again(let request, let space):
                take(note: space, in: context)
                if case .answered(let response) = attempt {
                    hops += response.facts.hops
                    followsChallenge = true
                    await drain(response, for: conversation)
                }
                attempt = try await Attempt(request, in: signed(context, conversation), next)
            }
        }
    }

    /// The context with the proof for the next request.
    private func signed(_ context: LoadContext, _ conversation: Conversation) -> LoadContext {
        guard let signer = conversation.signer else { return context }
        var context = context
        context.signer = signer
        context.connection = conversation.connection
        return context
    }

    /// Between two legs, the body of an answer is read up to this length so that its connection can be reused.
    private static let legLimit = ByteCount.kibibytes(256)

    private func drain(_ response: LoadResponse, for conversation: Conversation) async {
        guard conversation.connection?.required != nil else { return await response.drain() }
        _ = try? await response.body.collect(upTo: Self.legLimit)
    }

    private func take(note space: ProtectionSpace, in context: LoadContext) {
        context.recorder?.decided(.authentication, "\(space.method)", because: "\(space.kind) \(space.origin)")
        context.logger.debug(
            "Answering a challenge.", metadata: ["request": "\(context.requestID)", "scheme": "\(space.method)"])
    }

    private func take(noteOf withheld: (space: ProtectionSpace, field: HTTPField.Name), in context: LoadContext) {
        let space = withheld.space
        context.recorder?.decided(
            .withheld, withheld.field.canonicalName, because: "basic over plain http to \(space.kind) \(space.origin)")
        context.logger.notice(
            "A password was not sent: Basic over plain http is not allowed.",
            metadata: ["request": "\(context.requestID)", "origin": "\(space.origin)"])
    }

    /// If this throws, the response's body is discarded.
    private func step(
        after attempt: Attempt, _ conversation: inout Conversation, in context: LoadContext
    ) async throws(LoadError) -> NextStep {
        defer { if let withheld = conversation.withheld { take(noteOf: withheld, in: context) } }
        do throws(LoadError) {
            return try await conversation.next(after: attempt)
        } catch {
            if case .answered(let response) = attempt { response.body.discard() }
            throw error
        }
    }
}
