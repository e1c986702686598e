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

    @Test mutating func decisionsForOneLoadAreNotKept() throws {
        decisions.note(.cancel, to: wish, at: place)
        decisions.note(.trust(.none), to: try chain(1), at: place)
        decisions.note(.cancel, to: try chain(1), at: place)
        #expect(try decisions.answer(to: wish, at: place) == nil && decisions.answer(to: chain(1), at: place) == nil)
    }
}
