internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportHTTPAuthentication
internal import SallyportLoading
internal import SallyportWire

/// One request's token, and the check of its answer.
actor NegotiateSignature: RequestSignature {
    private let kerberos: Kerberos
    private let owner: TicketOwner
    private let service: ServiceName
    private let tickets: Kerberos.ServiceTickets
    private let kind: ProtectionSpace.Kind
    private let binding: [UInt8]?
    private var made: ServiceProof?

    init(
        _ kerberos: Kerberos, _ owner: TicketOwner, _ service: ServiceName,
        _ tickets: Kerberos.ServiceTickets, to kind: ProtectionSpace.Kind, over binding: [UInt8]? = nil
    ) {
        self.binding = binding
        self.kerberos = kerberos
        self.owner = owner
        self.service = service
        self.tickets = tickets
        self.kind = kind
    }

    /// A service accepts each token once: another is made each time.
    func make() -> Redacted<String>? {
        made = nil
        guard tickets.service.holds(at: kerberos.clock()),
            let proof = try? ServiceProof(tickets.service, binding: binding, delegated: tickets.delegated)
        else { return nil }
        made = proof
        let token = KerberosToken(.request, proof.request).serialized
        let offer = SPNEGOToken.offer(SPNEGOOffer([.kerberos], token: token)).serialized
        return Redacted("Negotiate \(Base64.encode(offer))")
    }

    var isMade: Bool { made != nil }

    /// The service may no longer know a stored ticket; a new ticket is refused for another reason.
    func isOutdated(by offered: OfferedScheme) async -> Bool {
        guard !tickets.isNew else { return false }
        await kerberos.refused(tickets.service, for: service, of: owner)
        return true
    }

    func accepted(by response: LoadResponse, wasAsked: Bool) async throws(LoadError) -> LoadResponse {
        guard let proof = made else { return response }
        switch Self.answer(in: response, to: kind) {
        case nil:
            // Without a challenge, the service may not have looked at the token; an impostor could have omitted the
            // challenge too.
            guard wasAsked else { return response }
            // A gateway in front of the service may answer with an error without a proof; a successful answer needs the
            // proof. A proxy need not prove itself: many send no token with the answers that they pass on.
            guard kind == .proxy || response.head.status.code >= 400 else {
                throw Self.failure("The server does not authenticate itself.")
            }
        case .some(let answer):
            guard let answer, proof.isAnswered(by: answer.reply),
                answer.listCode.map({ proof.isSigned(SPNEGOOffer([.kerberos], token: nil).list, with: $0) }) ?? true
            else { throw Self.failure("The server's own token is not one of the service that the ticket is for.") }
        }
        await kerberos.wasUsed(owner)
        return response
    }

    private static func failure(_ message: String) -> LoadError {
        LoadError(.serverNotAuthenticated, at: .response, message)
    }

    /// The service's proof.
    struct Answer {
        /// AP-REP.
        var reply: [UInt8]
        var listCode: [UInt8]?
    }

    /// Nil if there is no token; `.some(nil)` if it is invalid.
    private static func answer(in response: LoadResponse, to kind: ProtectionSpace.Kind) -> Answer?? {
        let field: HTTPField.Name = kind == .proxy ? .proxyAuthenticate : .wwwAuthenticate
        let offers = ChallengeParser.parse(response.head.headerFields[values: field])
        guard let text = offers.first(where: { $0.name == "negotiate" && $0.token68 != nil })?.token68 else {
            return nil
        }
        return .some(try? answer(in: text))
    }

    static func answer(in text: String) throws(WireError) -> Answer {
        let bytes = try Base64.decode(text.utf8)
        // Some services answer without SPNEGO.
        if let token = try? KerberosToken(parsing: bytes), token.kind == .reply { return Answer(reply: token.message) }
        guard case .answer(let answer) = try SPNEGOToken(parsing: bytes), answer.state == .completed,
            answer.mechanism?.isKerberos ?? true, let inner = answer.token
        else { throw WireError(.unsupported, "The service does not say that it has accepted the token.") }
        let token = try KerberosToken(parsing: inner)
        guard token.kind == .reply else { throw WireError(.unsupported, "The service's token is not an AP-REP.") }
        return Answer(reply: token.message, listCode: answer.listCode)
    }
}
