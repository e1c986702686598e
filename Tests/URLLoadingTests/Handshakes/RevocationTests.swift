import Foundation
import HTTPTypes
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Certificates that were withdrawn before their end: by lists (RFC 5280 §5), and by what servers staple (RFC 6960).
@Suite(.timeLimit(.minutes(1)))
struct RevocationTests {
    private let folder: TemporaryDirectory
    private let authority: TestAuthority
    private let site: Site
    private let identity: TestIdentity
    private let loading = URLLoadingSystem(gate: StubGate())

    init() throws {
        folder = try TemporaryDirectory()
        authority = try TestAuthority()
        site = try Site(authority)
        identity = try authority.server(addresses: [.v4(0x7f00_0001)])
        let identity = identity
        site.change { $0.identity = identity }
    }

    private func reason(_ checks: RevocationChecks) async throws -> ServerTrustEvaluation.Failure.Reason? {
        var configuration = SessionConfiguration()
        configuration.trust = try .only([authority.der])
        configuration.revocation = checks
        guard let failure = await loading.makeSession(configuration).failure(try site.request()) else { return nil }
        #expect(failure.code == .serverNotTrusted)
        return (failure.underlying as? ServerTrustEvaluation)?.failure?.reason
    }

    private func lists(_ text: String, allowingUnknown: Bool = false) throws -> RevocationChecks {
        try folder.write(text, to: "list.pem")
        var checks = RevocationChecks()
        try checks.useLists(pemFile: folder.file("list.pem"), allowingUnknown: allowingUnknown)
        return checks
    }

    // MARK: Lists

    @Test func aListedCertificateIsRefused() async throws {
        let list = try authority.revocationList(of: [identity])
        #expect(try await reason(lists(list)) == .revoked)
        #expect(try await reason(lists(list, allowingUnknown: true)) == .revoked)
        #expect(site.seen.heads.isEmpty)
    }

    @Test func oneThatIsNotListedIsTaken() async throws {
        let other = try authority.server(names: ["other.example"])
        #expect(try await reason(lists(authority.revocationList(of: [other]))) == nil)
    }

    @Test func withoutAListInForceTheRulesDecide() async throws {
        let foreign = try TestAuthority(name: "Foreign").revocationList(of: [])
        let over = try authority.revocationList(of: [], isCurrent: false)
        for list in [foreign, over] {
            #expect(try await reason(lists(list)) == .noRevocationStatus)
            #expect(try await reason(lists(list, allowingUnknown: true)) == nil)
        }
    }

    @Test func aFileWithoutAListIsAnError() throws {
        #expect(throws: LoadError.self) { try lists("nothing") }
        #expect(throws: LoadError.self) { try lists(authority.pem) }
    }

    // MARK: Stapled answers

    private func stapling(_ stapling: RevocationChecks.Stapling, _ staple: [UInt8]?) async throws
        -> ServerTrustEvaluation.Failure.Reason?
    {
        site.change { $0.staple = staple }
        var checks = RevocationChecks()
        checks.stapling = stapling
        return try await reason(checks)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func aStapledAnswerThatItIsRevokedIsBelieved(_ version: TLSVersion) async throws {
        site.change { $0.version = version }
        let answer = try authority.ocspAnswer(on: identity, .revoked)
        #expect(try await stapling(.whenSent, answer) == .revoked)
        #expect(try await stapling(.required, answer) == .revoked)
        #expect(try await stapling(.ignored, answer) == nil)
    }

    /// The app is asked about the chain before the server's answer is known.
    @Test(arguments: [TLSVersion.tls12, .tls13])
    func whatTheAppTrustsIsRefusedIfItIsRevoked(_ version: TLSVersion) async throws {
        let answer = try authority.ocspAnswer(on: identity, .revoked)
        site.change { ($0.version, $0.staple) = (version, answer) }
        var configuration = SessionConfiguration()
        configuration.trust = try .only([authority.der])
        let delegate = AskedDelegate(.trust(.forSession))
        let failure = await loading.makeSession(configuration, delegate: delegate).failure(try site.request())
        #expect(failure?.code == .serverNotTrusted)
        #expect((failure?.underlying as? ServerTrustEvaluation)?.failure?.reason == .revoked)
        #expect(delegate.evaluations.map(\.isTrusted) == [true] && site.seen.heads.isEmpty)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func aGoodAnswerIsTaken(_ version: TLSVersion) async throws {
        site.change { $0.version = version }
        #expect(try await stapling(.required, authority.ocspAnswer(on: identity, .good)) == nil)
    }

    @Test func noAnswerIsEnoughOnlyWhereNoneIsRequired() async throws {
        #expect(try await stapling(.whenSent, nil) == nil)
        #expect(try await stapling(.required, nil) == .noRevocationStatus)
    }

    @Test func anAnswerThatSaysNothingGoodIsNone() async throws {
        let other = try authority.server(names: ["other.example"])
        let answers = try [
            authority.ocspAnswer(on: identity, .unknown), authority.ocspAnswer(on: identity, .good, hours: -1),
            authority.ocspAnswer(on: other, .good),
            authority.ocspAnswer(on: identity, .good, signedBy: TestAuthority(name: "Foreign")), [1, 2, 3],
        ]
        for answer in answers { #expect(try await stapling(.whenSent, answer) == .noRevocationStatus) }
    }

    /// A response without nextUpdate would be valid for ever: one from before the theft of a key could be stapled until
    /// the certificate expires.
    @Test func anAnswerWithoutANextOneIsGoodForSevenDays() async throws {
        let week = 7 * 86_400
        let fresh = try authority.ocspAnswer(on: identity, .good, hours: nil, age: week - 3_600)
        #expect(try await stapling(.required, fresh) == nil)
        let old = try authority.ocspAnswer(on: identity, .good, hours: nil, age: week + 3_600)
        #expect(try await stapling(.whenSent, old) == .noRevocationStatus)
        // A response with nextUpdate may be of any age.
        let long = try authority.ocspAnswer(on: identity, .good, hours: 1, age: week + 3_600)
        #expect(try await stapling(.required, long) == nil)
    }

    /// nginx ends each connection after one request; the second handshake resumes the first's session, and shows neither
    /// certificate nor answer.
    @Test func aResumedSessionNeedsNoNewAnswer() async throws {
        try folder.write(identity.pem, to: "site.pem")
        try folder.write(identity.keyPEM, to: "site.key")
        try folder.write("ok", to: "page")
        let answer = try authority.ocspAnswer(on: identity, .good)
        try Data(answer).write(to: URL(filePath: folder.file("answer.der")))
        let nginx = try await Nginx.start(in: folder) { port in
            """
            log_format line '$ssl_session_reused $status';
            server {
                listen 127.0.0.1:\(port) ssl;
                access_log \(folder.path)/access.log line;
                ssl_certificate \(folder.path)/site.pem;
                ssl_certificate_key \(folder.path)/site.key;
                ssl_session_cache shared:sessions:1m;
                ssl_stapling on;
                ssl_stapling_file \(folder.path)/answer.der;
                keepalive_requests 1;
                root \(folder.path);
            }
            """
        }
        var configuration = SessionConfiguration()
        configuration.trust = try .only([authority.der])
        configuration.revocation.stapling = .required
        let session = loading.makeSession(configuration)
        let request = try LoadRequest(.get, RequestURL("https://127.0.0.1:\(nginx.port)/page"))
        for _ in 0..<2 { #expect(await session.failure(request) == nil) }
        #expect(try await eventually { nginx.log == [". 200", "r 200"] }, "\(nginx.log)")
    }
}
