internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// Which offers of a challenge may be answered, and in which order.
extension Negotiator {
    /// One offer for each space; of several, the one that its scheme prefers. In the order of the server, or with the
    /// strongest first.
    func offers(of head: HTTPResponse) async -> [Negotiation.Offer] {
        var (spaces, offers): ([ProtectionSpace], [ProtectionSpace: [OfferedScheme]]) = ([], [:])
        for offer in challenges(of: head) {
            let space = offer.space
            guard let scheme = await scheme(for: space), scheme.takes(offer.offered), mayUse(space.method) else {
                continue
            }
            if offers[space] == nil { spaces.append(space) }
            offers[space, default: []].append(offer.offered)
        }
        let known: [Negotiation.Offer] = spaces.compactMap { space in
            stage.schemes[space.method]?.preferred(of: offers[space] ?? []).map {
                Negotiation.Offer(space: space, offered: $0)
            }
        }
        return preferences.prefersStrongest ? strongestFirst(known) : known
    }

    /// The scheme of a space, if it is allowed and does not send a password over an unencrypted connection.
    func scheme(for space: ProtectionSpace) async -> (any AuthenticationScheme)? {
        guard let scheme = stage.scheme(of: space.method), await maySayPassword(in: space) else { return nil }
        return scheme
    }

    /// Only Basic sends the password itself. If the app has set a default credential for exactly this space, which
    /// names the method, it has allowed that.
    private func maySayPassword(in space: ProtectionSpace) async -> Bool {
        if space.method != .basic || challenger.isEncrypted || preferences.allowsBasicOverPlainHTTP { return true }
        return await credentials.hasDefault(for: space, of: principal)
    }

    /// The space of a Basic challenge that was skipped because the connection is not encrypted, although there may have
    /// been a credential.
    func passedOver(in head: HTTPResponse) async -> ProtectionSpace? {
        guard let space = await unreadable(challenges(of: head)), stage.scheme(of: space.method) != nil else {
            return nil
        }
        if challenger.credential != nil || responder != nil { return space }
        return await credentials.credential(for: space, of: principal) == nil ? nil : space
    }

    /// The first space in which no password may be sent.
    private func unreadable(_ offers: [Negotiation.Offer]) async -> ProtectionSpace? {
        for offer in offers {
            guard await maySayPassword(in: offer.space) else { return offer.space }
        }
        return nil
    }

    private func challenges(of head: HTTPResponse) -> [Negotiation.Offer] {
        ChallengeParser.parse(head.headerFields[values: challenger.challengeField]).map { offered in
            let space = ProtectionSpace(
                origin: challenger.origin, realm: offered.realm, method: AuthenticationMethod(offered.name),
                kind: challenger.kind)
            return Negotiation.Offer(space: space, offered: offered)
        }
    }

    /// Whether the way to the server allows the method: one that authenticates a connection needs one that leads there.
    func mayUse(_ method: AuthenticationMethod) -> Bool { mayBind || !stage.isOfConnection(method) }

    /// Whether one connection reaches from here to the server, so that it can be authenticated for the user.
    private var mayBind: Bool { challenger.kind == .server && !isForwarded }

    /// Sorts by strength; offers of equal strength stay in the order of the server.
    private func strongestFirst(_ offers: [Negotiation.Offer]) -> [Negotiation.Offer] {
        let ranked = offers.enumerated().map { position, offer in
            let scheme = stage.schemes[offer.space.method]
            let rank = MethodStrength(offer.space.method, isEncrypted: challenger.isEncrypted)
            return (offer, rank, scheme?.strength(of: offer.offered) ?? 0, position)
        }
        return ranked.sorted { one, other in
            if one.1 != other.1 { return one.1 > other.1 }
            return one.2 != other.2 ? one.2 > other.2 : one.3 < other.3
        }.map(\.0)
    }

    /// - Throws: ``LoadError/Code/unsupported`` if a proxy offers only methods that cannot be used with a proxy.
    func checkSupport(_ head: HTTPResponse) throws(LoadError) {
        guard challenger.kind == .proxy, negotiation.failures.isEmpty, negotiation.rejected.isEmpty else { return }
        let methods = challenges(of: head).map(\.space.method).filter { stage.schemes[$0] != nil }
        guard !methods.isEmpty, methods.allSatisfy(stage.isOfConnection) else { return }
        throw LoadError(
            .unsupported, at: .response, "The proxy asks for a scheme that proves for a connection, as NTLM does.")
    }
}

/// How strong methods are, the weakest first.
///
/// From Negotiate's messages nothing can be guessed. A password can be guessed off-line from the proofs of NTLM and
/// Digest. Over TLS, the proof of NTLM is bound to the connection; without TLS, only the proof of Digest is bound to
/// anything, namely the request. Basic sends the password itself.
enum MethodStrength: Int, Comparable {
    case basic, other, second, first, negotiate

    init(_ method: AuthenticationMethod, isEncrypted: Bool) {
        switch method {
        case .basic: self = .basic
        case .digest: self = isEncrypted ? .second : .first
        case .ntlm: self = isEncrypted ? .first : .second
        case .negotiate: self = .negotiate
        default: self = .other
        }
    }

    static func < (one: MethodStrength, other: MethodStrength) -> Bool { one.rawValue < other.rawValue }
}
