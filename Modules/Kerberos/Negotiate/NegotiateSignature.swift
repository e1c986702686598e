internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportHTTPAuthentication
internal import SallyportLoading
internal import SallyportWire

/// One request's token, and what its answer is measured by.
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

    /// A service takes one token once: another for each time.
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

    /// A ticket that was kept may be one that the service no longer knows: one that was just made is refused for another
    /// reason.
    func isOutdated(by offered: OfferedScheme) async -> Bool {
        guard !tickets.isNew else { return false }
        await kerberos.refused(tickets.service, for: service, of: owner)
        return true
    }

    func accepted(by response: LoadResponse, wasAsked: Bool) async throws(LoadError) -> LoadResponse {
        guard let proof = made else { return response }
        switch Self.answer(in: response, to: kind) {
        case nil:
            // What the cache keeps was vouched for when it came; that it still holds, or that its server is out of order,
            // is all that was learnt now.
            guard !response.facts.hops.isEmpty else { return response }
            // Where nobody asked, the service may not have looked: whoever plays it could as well have asked for nothing.
            guard wasAsked else { return response }
            // What stands before the service may end a request without it; what it gives out it must stand for.
            guard kind == .proxy || response.head.status.code >= 400 else {
                throw Self.failure("The server does not say who it is.")
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

    /// What a service says for itself.
    struct Answer {
        /// AP-REP.
        var reply: [UInt8]
        var listCode: [UInt8]?
    }

    /// Nil where there is no token; nil within where it is none that can be right.
    private static func answer(in response: LoadResponse, to kind: ProtectionSpace.Kind) -> Answer?? {
        let field: HTTPField.Name = kind == .proxy ? .proxyAuthenticate : .wwwAuthenticate
        let offers = ChallengeParser.parse(response.fieldsSentNow[values: field])
        guard let text = offers.first(where: { $0.name == "negotiate" && $0.token68 != nil })?.token68 else {
            return nil
        }
        return .some(try? answer(in: text))
    }

    static func answer(in text: String) throws(WireError) -> Answer {
        let octets = try Base64.decode(text.utf8)
        // Some answer without SPNEGO.
        if let token = try? KerberosToken(parsing: octets), token.kind == .reply { return Answer(reply: token.message) }
        guard case .answer(let answer) = try SPNEGOToken(parsing: octets), answer.state == .completed,
            answer.mechanism?.isKerberos ?? true, let inner = answer.token
        else { throw WireError(.unsupported, "The service does not say that it has accepted the token.") }
        let token = try KerberosToken(parsing: inner)
        guard token.kind == .reply else { throw WireError(.unsupported, "The service's token is no AP-REP.") }
        return Answer(reply: token.message, listCode: answer.listCode)
    }
}
