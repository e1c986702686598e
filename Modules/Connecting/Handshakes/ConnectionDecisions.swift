internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// What apps and servers have decided about connections, in memory; for all sessions of an instance.
struct ConnectionDecisions: Sendable {
    /// Where a decision holds. One on a server's chain is of the server, and holds for all principals of a scope. A
    /// client certificate says who the user is, so it is chosen for one principal.
    struct Place: Hashable, Sendable {
        var scope: ConnectionPartition.Scope
        var endpoint: Endpoint
        /// Nil for what holds for all principals.
        var principal: Principal?

        /// The place of what is decided for one principal alone.
        func of(_ principal: Principal) -> Place {
            Place(scope: scope, endpoint: endpoint, principal: principal)
        }
    }

    /// The certificate for a server that requests one.
    enum Presentation: Sendable, Hashable {
        case nothing
        case identity(ClientIdentity)
    }

    /// What is known of a place before a handshake.
    struct Standing: Sendable {
        var trust: TrustDecision?
        var presentation: Presentation?
        /// The chain that was verified when the server last presented it.
        var shown: ServerTrustEvaluation?
        /// The server's last request for a certificate.
        var wish: CertificateRequest?

        var isEmpty: Bool { trust == nil && presentation == nil && shown == nil && wish == nil }
    }

    private struct Record: Sendable {
        var standing = Standing()
        var lastUse: UInt64 = 0
    }

    /// The greatest number of places of which anything is known. Servers can lead an app to any number of names, so
    /// beyond it the one that was used least recently is forgotten: its next handshake raises the question again.
    static let limit = 1000

    private var records: [Place: Record] = [:]
    private var uses: UInt64 = 0

    var isEmpty: Bool { records.isEmpty }

    /// What is known of a place, which is used now. A chain and a wish are the questions of its last handshakes, which
    /// the server may raise again: each load's own delegate can be asked without another handshake.
    mutating func standing(at place: Place) -> Standing {
        uses += 1
        records[place]?.lastUse = uses
        return records[place]?.standing ?? Standing()
    }

    /// What is known of a place for the connections of one principal.
    ///
    /// - Parameter place: of all principals.
    mutating func standing(at place: Place, of principal: Principal) -> Standing {
        var known = standing(at: place)
        known.presentation = standing(at: place.of(principal)).presentation
        return known
    }

    private mutating func change(_ place: Place, _ body: (inout Standing) -> Void) {
        uses += 1
        var record = records[place] ?? Record()
        body(&record.standing)
        record.lastUse = uses
        records[place] = record.standing.isEmpty ? nil : record
        guard records.count > Self.limit, let oldest = records.min(by: { $0.value.lastUse < $1.value.lastUse }) else {
            return
        }
        records[oldest.key] = nil
    }

    // MARK: Trust

    mutating func set(_ decision: TrustDecision?, at place: Place) { change(place) { $0.trust = decision } }

    /// Forgets the decisions about a server's chain, in all sessions.
    ///
    /// - Returns: whether anything was trusted.
    mutating func forgetTrust(at endpoint: Endpoint) -> Bool {
        var wasTrusted = false
        for (place, record) in records where place.endpoint == endpoint {
            if case .decided(_, isTrusted: true)? = record.standing.trust { wasTrusted = true }
            change(place) { $0.trust = nil }
        }
        return wasTrusted
    }

    mutating func set(_ evaluation: ServerTrustEvaluation, at place: Place) {
        change(place) { $0.shown = evaluation.isTrusted ? evaluation : nil }
    }

    // MARK: Client certificates

    mutating func set(_ wish: CertificateRequest, at place: Place) { change(place) { $0.wish = wish } }

    // MARK: Answers of a session's delegate

    /// The app's earlier answer to the same question; nil if there is none, or if it was for one load only.
    ///
    /// - Parameter place: the principal's own for a client certificate.
    func answer(to challenge: AuthenticationChallenge, at place: Place) -> ChallengeDisposition? {
        guard let fingerprint = challenge.serverTrust?.fingerprint else {
            return switch records[place]?.standing.presentation {
            case .identity(let identity): .present(identity)
            case .nothing: .performDefaultHandling
            case nil: nil
            }
        }
        guard case .decided(fingerprint, let isTrusted)? = records[place]?.standing.trust else { return nil }
        return isTrusted ? .trust(.forSession) : .performDefaultHandling
    }

    /// Keeps an answer that holds for the session.
    ///
    /// - Parameter place: the principal's own for a client certificate.
    mutating func note(_ answer: ChallengeDisposition, to challenge: AuthenticationChallenge, at place: Place) {
        guard let evaluation = challenge.serverTrust else { return notePresentation(answer, at: place) }
        switch answer {
        case .trust(.forSession), .trust(.permanent): set(.decided(evaluation.fingerprint, isTrusted: true), at: place)
        case .performDefaultHandling, .notImplemented:
            if evaluation.isTrusted { set(.decided(evaluation.fingerprint, isTrusted: false), at: place) }
        case .trust(.none), .rejectProtectionSpace, .cancel, .use, .present: break
        }
    }

    private mutating func notePresentation(_ answer: ChallengeDisposition, at place: Place) {
        switch answer {
        case .present(let identity): change(place) { $0.presentation = .identity(identity) }
        case .performDefaultHandling, .notImplemented, .rejectProtectionSpace:
            change(place) { $0.presentation = .nothing }
        case .cancel, .use, .trust: break
        }
    }

    // MARK: End

    /// Forgets all decisions of a session that has ended.
    mutating func forget(_ scope: ConnectionPartition.Scope) { records = records.filter { $0.key.scope != scope } }
}
