import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// A server that asks for the client's certificate.
@Suite(.timeLimit(.minutes(1)))
struct ClientCertificateTests {
    private let clients: TestAuthority
    private let site: Site
    private let identity: TestIdentity
    private let loading = URLLoadingSystem(gate: StubGate())

    init() throws {
        clients = try TestAuthority(name: "Clients")
        site = try Site(TestAuthority(), requiring: clients)
        identity = try clients.client()
    }

    private func configuration() throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.trust = try .only([site.authority.der])
        return configuration
    }

    /// Answers questions about certificates, and leaves trust to verification.
    private func delegate(_ disposition: ChallengeDisposition) -> AskedDelegate {
        AskedDelegate(session: { $0.certificateRequest == nil ? .performDefaultHandling : disposition })
    }

    private func requests(_ delegate: AskedDelegate) -> [CertificateRequest] {
        delegate.asked.compactMap(\.challenge.certificateRequest)
    }

    @Test func theAppIsAskedOnceAndItsCertificateShown() async throws {
        let delegate = try delegate(.present(identity.clientIdentity))
        let session = try loading.makeSession(configuration(), delegate: delegate)
        for _ in 0..<3 { #expect(await session.failure(try site.request()) == nil) }
        #expect(try site.seen.certificates == [identity.der] && site.seen.heads.count == 3)
        #expect(try requests(delegate).map(\.endpoint) == [site.server.endpoint])
    }

    /// A principal is a user, and a certificate says who the user is.
    @Test func eachPrincipalIsAskedForACertificateOfItsOwn() async throws {
        let other = try clients.client()
        let left = Lock(try [identity.clientIdentity, other.clientIdentity])
        let delegate = AskedDelegate(session: { challenge in
            guard challenge.certificateRequest != nil else { return .performDefaultHandling }
            let chosen: ClientIdentity? = left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            return chosen.map { ChallengeDisposition.present($0) } ?? .performDefaultHandling
        })
        let session = try loading.makeSession(configuration(), delegate: delegate)
        for name in ["a", "b", "a"] {
            var request = try site.request()
            request.options.principal = Principal(name)
            #expect(await session.failure(request) == nil)
        }
        #expect(try site.seen.certificates == [identity.der, other.der])
        #expect(requests(delegate).count == 2)
        #expect(delegate.evaluations.count == 1, "Trust in the server's chain is the session's.")
    }

    @Test func theServersAuthoritiesAreNamed() async throws {
        site.change { $0.namesAuthority = true }
        let delegate = delegate(.performDefaultHandling)
        let session = try loading.makeSession(configuration(), delegate: delegate)
        _ = await session.failure(try site.request())
        let name = try #require(requests(delegate).first?.authorities.first)
        #expect(String(decoding: name, as: UTF8.self).contains("Clients"))
    }

    @Test(arguments: [ChallengeDisposition.performDefaultHandling, .rejectProtectionSpace, .notImplemented])
    func withoutAnAnswerNoneIsShown(_ disposition: ChallengeDisposition) async throws {
        let delegate = delegate(disposition)
        let session = try loading.makeSession(configuration(), delegate: delegate)
        for _ in 0..<2 { #expect(await session.failure(try site.request())?.code == .clientCertificateRefused) }
        #expect(delegate.asked.filter { $0.challenge.certificateRequest != nil && $0.isOfSession }.count == 1)
        #expect(site.seen.heads.isEmpty)
    }

    @Test func aCancelledQuestionEndsTheLoad() async throws {
        let session = try loading.makeSession(configuration(), delegate: delegate(.cancel))
        #expect(await session.failure(try site.request())?.code == .authenticationCancelled)
    }

    @Test func aConfiguredCertificateIsShownToItsHostAlone() async throws {
        var configuration = try configuration()
        try configuration.present(identity.clientIdentity, to: "127.0.0.1")
        let session = loading.makeSession(configuration)
        #expect(await session.failure(try site.request()) == nil)
        #expect(try site.seen.certificates == [identity.der])
        let other = try RequestURL("https://localhost:\(site.server.port)/")
        #expect(await session.failure(LoadRequest(.get, other))?.code == .clientCertificateRefused)
        #expect(site.seen.certificates.count == 1)
    }

    @Test func aCertificateFromALoadsDelegateIsForThatLoadOnly() async throws {
        let session = try loading.makeSession(configuration())
        let own = try delegate(.present(identity.clientIdentity))
        // The question is of the connection, and a load's own delegate has the method for loads alone.
        let loads = AskedDelegate(load: { [identity] challenge in
            guard challenge.certificateRequest != nil, let shown = try? identity.clientIdentity else {
                return .performDefaultHandling
            }
            return .present(shown)
        })
        #expect(await session.failure(try site.request(), delegate: own)?.code == .clientCertificateRefused)
        #expect(await session.failure(try site.request(), delegate: loads) == nil)
        #expect(await session.failure(try site.request())?.code == .clientCertificateRefused)
    }

    @Test func sessionsWithOtherCertificatesShareNoConnection() async throws {
        let other = try clients.client()
        for identity in [identity, other, identity] {
            var configuration = try configuration()
            try configuration.present(identity.clientIdentity, to: "127.0.0.1")
            #expect(await loading.makeSession(configuration).failure(try site.request()) == nil)
        }
        #expect(try site.seen.certificates == [identity.der, other.der, identity.der])
    }
}
