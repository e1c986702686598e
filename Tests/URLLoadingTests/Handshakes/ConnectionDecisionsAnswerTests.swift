import SallyportCore
import SallyportLoading
import SallyportTransport
import Testing

@testable import SallyportConnecting
@testable import SallyportURLLoading

/// A load that raises a question just after it was answered finds the answer.
struct ConnectionDecisionsAnswerTests {
    private var decisions = ConnectionDecisions()
    private let place: ConnectionDecisions.Place
    private let wish: AuthenticationChallenge

    init() throws {
        let endpoint = try Endpoint("a.example:443")
        place = .init(scope: .session("1"), endpoint: endpoint)
        wish = AuthenticationChallenge(
            protectionSpace: ProtectionSpace(
                origin: "https://a.example:443", realm: nil, method: .clientCertificate),
            certificateRequest: CertificateRequest(endpoint: endpoint, authorities: []))
    }

    /// - Parameter byte: makes one chain another than the next.
    private func chain(_ byte: UInt8, isTrusted: Bool = false) throws -> AuthenticationChallenge {
        let fingerprint = try #require(ChainFingerprint(sha256: Array(repeating: byte, count: 32)))
        return AuthenticationChallenge(
            protectionSpace: ProtectionSpace(origin: "https://a.example:443", realm: nil, method: .serverTrust),
            serverTrust: ServerTrustEvaluation(
                endpoint: place.endpoint, chain: [[byte]], fingerprint: fingerprint,
                failure: isTrusted ? nil : .init(.selfSigned, "It is self-signed."), connection: ConnectionFacts()))
    }

    @Test func anUnansweredQuestionHasNoDecision() throws {
        #expect(decisions.answer(to: wish, at: place) == nil)
        #expect(try decisions.answer(to: chain(1), at: place) == nil)
    }

    @Test(arguments: [TrustPersistence.forSession, .permanent])
    mutating func aTrustedChainIsKnownAndNoOther(_ persistence: TrustPersistence) throws {
        decisions.note(.trust(persistence), to: try chain(1), at: place)
        #expect(try decisions.answer(to: chain(1), at: place) == .trust(.forSession))
        #expect(try decisions.answer(to: chain(2), at: place) == nil)
        #expect(try decisions.answer(to: chain(1), at: .init(scope: .session("2"), endpoint: place.endpoint)) == nil)
    }

    @Test mutating func defaultHandlingIsKnownOfAChainThatVerifies() throws {
        decisions.note(.performDefaultHandling, to: try chain(1), at: place)
        #expect(try decisions.answer(to: chain(1), at: place) == nil)
        decisions.note(.performDefaultHandling, to: try chain(1, isTrusted: true), at: place)
        #expect(try decisions.answer(to: chain(1, isTrusted: true), at: place) == .performDefaultHandling)
    }

    @Test mutating func aCertificateThatIsNotShownIsKnown() {
        decisions.note(.rejectProtectionSpace, to: wish, at: place)
        #expect(decisions.answer(to: wish, at: place) == .performDefaultHandling)
    }

    @Test mutating func aCertificateIsOfOnePrincipalAndTrustOfAll() throws {
        let (ann, bob) = (Principal("ann"), Principal("bob"))
        decisions.note(.rejectProtectionSpace, to: wish, at: place.of(ann))
        decisions.note(.trust(.forSession), to: try chain(1), at: place)
        #expect(decisions.answer(to: wish, at: place.of(bob)) == nil)
        let (anns, bobs) = (decisions.standing(at: place, of: ann), decisions.standing(at: place, of: bob))
        #expect(anns.presentation == .nothing && bobs.presentation == nil)
        #expect(anns.trust != nil && bobs.trust != nil)
    }

    @Test mutating func beyondTheLimitTheServerThatWasUsedLeastRecentlyIsForgotten() throws {
        let trusted = try chain(1)
        let places = try (0...ConnectionDecisions.limit).map { number in
            ConnectionDecisions.Place(scope: .session("1"), endpoint: try Endpoint("s\(number).example:443"))
        }
        let newest = places[ConnectionDecisions.limit]
        for place in places.dropLast() { decisions.note(.trust(.forSession), to: trusted, at: place) }
        _ = decisions.standing(at: places[0])
        decisions.note(.rejectProtectionSpace, to: wish, at: newest)
        #expect(decisions.answer(to: trusted, at: places[0]) == .trust(.forSession), "it was used since")
        #expect(decisions.answer(to: trusted, at: places[1]) == nil)
        #expect(decisions.answer(to: trusted, at: places[2]) == .trust(.forSession))
        #expect(decisions.answer(to: wish, at: newest) == .performDefaultHandling)
    }

    /// A server that shows another chain each time takes no more room than one that does not.
    @Test mutating func aServersNextChainReplacesItsLast() throws {
        let other = ConnectionDecisions.Place(scope: .session("2"), endpoint: place.endpoint)
        decisions.note(.trust(.forSession), to: try chain(1), at: other)
        for number in 0...ConnectionDecisions.limit {
            decisions.note(.trust(.forSession), to: try chain(UInt8(number % 256)), at: place)
        }
        #expect(try decisions.answer(to: chain(1), at: other) == .trust(.forSession))
        #expect(try decisions.answer(to: chain(0), at: place) == nil)
    }

    @Test mutating func decisionsForOneLoadAreNotKept() throws {
        decisions.note(.cancel, to: wish, at: place)
        decisions.note(.trust(.none), to: try chain(1), at: place)
        decisions.note(.cancel, to: try chain(1), at: place)
        #expect(try decisions.answer(to: wish, at: place) == nil && decisions.answer(to: chain(1), at: place) == nil)
    }
}
