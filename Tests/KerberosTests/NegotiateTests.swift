import Foundation
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportSecureStore
import SallyportURLLoading
import SallyportWire
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportKerberos

/// Negotiate with Apache httpd and mod_auth_gssapi, and a real KDC.
@Suite(.timeLimit(.minutes(2)))
struct NegotiateTests {
    /// A realm with two users and a web server.
    struct Site {
        let kdc: TestKDC
        let apache: Apache

        static func start(
            isAhead: Int = 0, service: String = "", user: String = "+requires_preauth"
        ) async throws -> Site {
            let kdc = try await TestKDC.start(isAhead: isAhead)
            try await kdc.addUser("ann", password: "secret", user)
            try await kdc.addUser("bob", password: "hunter")
            let keytab = try await kdc.addService("HTTP/localhost", service)
            return Site(kdc: kdc, apache: try await Apache.withNegotiate(keytab: keytab, of: kdc))
        }

        func statuses(_ count: Int) async throws -> [String] {
            guard try await eventually({ apache.log.count >= count }) else { throw Unexpected("\(apache.log)") }
            return apache.log.map { String($0.prefix(3)) }
        }
    }

    @Test func theServerIsAskedOnceAndTheRealmTwice() async throws {
        let site = try await Site.start()
        let app = try KerberosApp([site.kdc])
        for _ in 1...3 {
            let answer = try await app.load(site.apache.url(), .ann())
            #expect(answer.status == 200 && answer.body == "inside", "\(site.apache.errors)")
        }
        #expect(try await site.statuses(4) == ["401", "200", "200", "200"])
        #expect(site.apache.log.dropFirst().allSatisfy { $0.contains(" ann@EXAMPLE.TEST ") })
        #expect(site.kdc.count("AS_REQ") == 1 && site.kdc.count("TGS_REQ") == 1)
        #expect(!FileManager.default.fileExists(atPath: HostileHost.trace))
        await app.loading.shutdown()
    }

    /// A token is sent there without a challenge, and the server ignores it.
    @Test func publicPagesNeedNoProofBesideProtectedOnes() async throws {
        let site = try await Site.start()
        let app = try KerberosApp([site.kdc])
        for path in ["/vault/page", "/free/page", "/vault/page", "/free/page"] {
            let answer = try await app.load(site.apache.url(path), .ann())
            #expect(answer.status == 200 && answer.body == "inside", "\(path)")
        }
        #expect(try await site.statuses(5) == ["401", "200", "200", "200", "200"])
        await app.loading.shutdown()
    }

    @Test func aWrongPasswordIsTheServersAnswer() async throws {
        let site = try await Site.start()
        let app = try KerberosApp([site.kdc])
        #expect(try await app.load(site.apache.url(), .ann("wrong")).status == 401)
        #expect(try await site.statuses(1) == ["401"], "nothing was sent in the user's name")
        #expect(try await app.load(site.apache.url(), .ann()).status == 200)
        await app.loading.shutdown()
    }

    private struct Answers: SessionDelegate {
        let asked = Lock<[Int]>([])

        func session(
            _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
        ) async -> ChallengeDisposition {
            let count = asked.withLock { asked in
                asked.append(challenge.previousFailureCount)
                return asked.count
            }
            return .use(.ann(count == 1 ? "wrong" : "secret"))
        }
    }

    @Test func theAppIsAskedAgainAfterAWrongPassword() async throws {
        let site = try await Site.start()
        let app = try KerberosApp([site.kdc])
        let answers = Answers()
        let session = app.loading.makeSession(delegate: answers)
        #expect(try await app.load(site.apache.url(), in: session).status == 200)
        #expect(answers.asked.withLock { $0 } == [0, 1])
        #expect(try await site.statuses(2) == ["401", "200"])
        await app.loading.shutdown()
    }

    @Test func ticketsServeEverySiteWithoutAQuestion() async throws {
        let site = try await Site.start()
        let other = try await Apache.withNegotiate(keytab: site.kdc.keytab(of: "HTTP/localhost"), of: site.kdc)
        let app = try KerberosApp([site.kdc])
        let answers = Answers()
        let session = app.loading.makeSession(delegate: answers)
        #expect(try await app.load(site.apache.url(), .ann(), in: session).status == 200)
        let count = answers.asked.withLock { $0.count }
        #expect(try await app.load(other.url(), in: session).status == 200)
        #expect(answers.asked.withLock { $0.count } == count)
        #expect(site.kdc.count("AS_REQ") == 1 && site.kdc.count("TGS_REQ") == 1)
        await app.loading.shutdown()
    }

    @Test func twoUsersOfOneProcessAreNeverMixed() async throws {
        let site = try await Site.start()
        let app = try KerberosApp([site.kdc])
        await withTaskGroup { group in
            for number in 0..<20 {
                group.addTask {
                    let (name, credential) = number % 2 == 0 ? ("a", Credential.ann()) : ("b", Credential.bob())
                    let path = "/vault/page?\(name)"
                    let answer = try? await app.load(site.apache.url(path), credential, of: Principal(name))
                    #expect(answer?.status == 200)
                }
            }
        }
        let lines = try await eventually { site.apache.log.count { $0.hasPrefix("200") } == 20 } ? site.apache.log : []
        #expect(lines.count { $0.hasPrefix("200 ann@EXAMPLE.TEST") && $0.hasSuffix("?a") } == 10)
        #expect(lines.count { $0.hasPrefix("200 bob@EXAMPLE.TEST") && $0.hasSuffix("?b") } == 10)
        await app.loading.shutdown()
    }

    // MARK: The store

    @Test func ticketsOutliveTheProcessUntilTheyAreCleared() async throws {
        let site = try await Site.start()
        let folder = try TemporaryDirectory()
        var store = try await TestStore(in: folder)
        let first = try KerberosApp([site.kdc], in: store.store)
        #expect(try await first.load(site.apache.url(), .ann()).status == 200)
        await first.loading.shutdown()
        store.close()

        store = try await TestStore(in: folder)
        let second = try KerberosApp([site.kdc], in: store.store)
        #expect(try await second.kerberos.tickets().map(\.service) == [nil, "HTTP/localhost"])
        #expect(try await second.load(site.apache.url()).status == 200)
        #expect(site.kdc.count("AS_REQ") == 1 && site.kdc.count("TGS_REQ") == 1)
        try await second.kerberos.clear()
        await second.credentials.clear(for: .negotiate)
        #expect(try await second.load(site.apache.url()).status == 401)
        await second.loading.shutdown()
        store.close()

        store = try await TestStore(in: folder)
        #expect(try await KerberosApp([site.kdc], in: store.store).kerberos.tickets().isEmpty)
        store.close()
        // Encrypted: neither the user nor the realm is to be seen.
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.file("store")) {
            let bytes = try Data(contentsOf: URL(filePath: folder.file("store/\(name)")))
            #expect(bytes.range(of: Data("EXAMPLE.TEST".utf8)) == nil)
        }
    }

    /// A principal may be another user at each server. After a restart it has the tickets of both.
    @Test func aServerGetsTheTicketsOfTheUserWhomItHasAccepted() async throws {
        let site = try await Site.start()
        let other = try await Apache.withNegotiate(keytab: site.kdc.keytab(of: "HTTP/localhost"), of: site.kdc)
        let store = try await TestStore()
        let first = try KerberosApp([site.kdc], in: store.store)
        #expect(try await first.load(site.apache.url(), .ann()).status == 200)
        #expect(try await first.load(other.url(), .bob()).status == 200)
        await first.loading.shutdown()
        // Waits for what was queued before.
        try await store.store.write { _ in }

        let second = try KerberosApp([site.kdc], in: store.store)
        #expect(try await second.load(other.url()).status == 200)
        #expect(try await second.load(site.apache.url()).status == 200)
        #expect(site.kdc.count("AS_REQ") == 2)
        await second.loading.shutdown()
        store.close()
    }

    private struct BobsAnswer: SessionDelegate {
        func session(
            _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
        ) async -> ChallengeDisposition { .use(.bob()) }
    }

    @Test func theAppIsAskedWhereOnlyTicketsOfAnotherUserAreAtHand() async throws {
        let site = try await Site.start()
        let store = try await TestStore()
        let first = try KerberosApp([site.kdc], in: store.store)
        #expect(try await first.load(site.apache.url(), .bob()).status == 200)
        try await first.kerberos.clear()
        await first.loading.shutdown()
        // Waits for what was queued before.
        try await store.store.write { _ in }

        let second = try KerberosApp([site.kdc], in: store.store)
        _ = try await second.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        #expect(try await second.load(site.apache.url()).status == 401)
        let session = second.loading.makeSession(delegate: BobsAnswer())
        #expect(try await second.load(site.apache.url(), in: session).status == 200)
        await second.loading.shutdown()
        store.close()
    }

    @Test func aTicketThatTheServiceDoesNotKnowIsAskedForAnew() async throws {
        let site = try await Site.start()
        let app = try KerberosApp([site.kdc])
        #expect(try await app.load(site.apache.url(), .ann()).status == 200)
        // Another key: what was issued for the old one is worth nothing.
        _ = try await site.kdc.keytab(of: "HTTP/localhost", "")
        #expect(try await app.load(site.apache.url(), .ann()).status == 200, "\(site.apache.errors)")
        #expect(try await site.statuses(4) == ["401", "200", "401", "200"])
        #expect(site.kdc.count("AS_REQ") == 1 && site.kdc.count("TGS_REQ") == 2)
        await app.loading.shutdown()
    }

    @Test func anExpiredTicketIsAskedForAnewWithoutAQuestion() async throws {
        let site = try await Site.start()
        let app = try KerberosApp([site.kdc])
        #expect(try await app.load(site.apache.url(), .ann()).status == 200)
        app.clock.advance(by: 7200)
        // The realm's clock has not moved, so its new tickets have expired too: no ticket is available, and the load
        // says so.
        #expect(try await app.load(site.apache.url()).status == 401)
        #expect(site.kdc.count("AS_REQ") >= 2)
        app.clock.advance(by: -7200)
        #expect(try await app.load(site.apache.url(), .ann()).status == 200)
        await app.loading.shutdown()
    }

    @Test func aRealmAndAServerWithAnotherClockAreUnderstood() async throws {
        let site = try await Site.start(isAhead: 3600)
        let app = try KerberosApp([site.kdc])
        #expect(try await app.load(site.apache.url(), .ann()).status == 200, "\(site.apache.errors)")
        await app.loading.shutdown()
    }

    // MARK: Delegation

    @Test func delegationGoesToWhomTheRealmTrustsOnly() async throws {
        let site = try await Site.start(service: "+ok_as_delegate")
        let app = try KerberosApp([site.kdc])
        #expect(try await app.load(site.apache.url(), .ann()).status == 200)
        #expect(!site.apache.hasDelegated, "not without being allowed")
        #expect(site.kdc.count("TGS_REQ") == 1)
        await app.credentials.clear(for: .negotiate)
        try await app.kerberos.allowDelegation(true)
        #expect(try await app.load(site.apache.url(), .ann()).status == 200, "\(site.apache.errors)")
        #expect(site.kdc.count("TGS_REQ") == 3, "the service's ticket, and one that can be handed on")
        #expect(try await eventually { site.apache.hasDelegated }, "\(site.apache.errors)")
        await app.loading.shutdown()
    }

    @Test func delegationThatCannotBeHadIsAnError() async throws {
        let site = try await Site.start(service: "+ok_as_delegate", user: "+requires_preauth -allow_forwardable")
        let app = try KerberosApp([site.kdc])
        try await app.kerberos.allowDelegation(true)
        await #expect(throws: LoadError(.delegationUnavailable, "")) {
            try await app.load(site.apache.url(), .ann())
        }
        #expect(try await site.statuses(1) == ["401"])
        await app.loading.shutdown()
    }
}
