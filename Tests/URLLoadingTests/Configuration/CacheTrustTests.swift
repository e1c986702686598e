import HTTPTypes
import SallyportCache
import SallyportCore
import SallyportLoading
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// A session's trust settings and client certificate are a part of the cache's key: tested with a real server over TLS.
@Suite(.timeLimit(.minutes(1)))
struct CacheTrustTests {
    private let site: Site
    private let cache: SecureCache
    private let loading: URLLoadingSystem
    private let store: TestStore
    private let clients: TestAuthority

    init() async throws {
        store = try await TestStore()
        let (cache, gate) = (SecureCache(store: store.store, gate: nil), StubGate())
        self.cache = cache
        loading = URLLoadingSystem(gate: gate, stages: { _ in [CacheStage(cache: cache, gate: gate)] })
        clients = try TestAuthority(name: "Clients")
        site = try Site(TestAuthority(), requiring: nil)
        site.answer { $0.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 2\r\n\r\nok") }
    }

    private func session(
        _ delegate: (any SessionDelegate)? = nil, _ change: (inout SessionConfiguration) throws -> Void = { _ in }
    ) throws -> SecureSession {
        var configuration = SessionConfiguration()
        try change(&configuration)
        return loading.makeSession(configuration, delegate: delegate)
    }

    private func load(_ session: SecureSession) async throws -> LoadError? {
        let failure = await session.failure(try site.request())
        await cache.settle()
        return failure
    }

    private var count: Int { site.seen.heads.count }

    /// A response of a server that the session does not trust is not given to it.
    @Test func answersAreNotSharedWithSessionsOfOtherTrust() async throws {
        let trusting = try session { $0.trust = try .only([site.authority.der]) }
        for _ in 0..<2 { #expect(try await load(trusting) == nil) }
        #expect(count == 1 && cache.statistics.entries == 1)
        #expect(try await load(try session())?.code == .serverNotTrusted)
        let other = try TestAuthority(name: "Other")
        #expect(try await load(try session { $0.trust = try .only([other.der]) })?.code == .serverNotTrusted)
        let again = try session { $0.trust = try .only([site.authority.der]) }
        #expect(try await load(again) == nil)
        #expect(count == 1, "One that trusts the same is answered.")
    }

    @Test func aPinCountsForWhatIsStored() async throws {
        #expect(try await load(try session { $0.trust = try .only([site.authority.der]) }) == nil)
        let pins = try [1, 2].map { try #require(PublicKeyPin(sha256: Array(repeating: $0, count: 32))) }
        let pinned = try session {
            $0.trust = try .only([site.authority.der])
            try $0.pin("127.0.0.1", to: pins[0], backups: [pins[1]])
        }
        #expect(try await load(pinned)?.code == .serverNotTrusted)
        #expect(count == 1)
    }

    /// However long the app's trust decision holds, it does not extend to the cache: no other load gets a response that
    /// it allowed.
    @Test(arguments: [TrustPersistence.none, .forSession])
    func answersFromServersThatTheAppAcceptedAreNotStored(_ persistence: TrustPersistence) async throws {
        let believing = try session(AskedDelegate(.trust(persistence)))
        for _ in 0..<2 { #expect(try await load(believing) == nil) }
        #expect(count == 2 && cache.statistics.entries == 0)
        #expect(try await load(try session())?.code == .serverNotTrusted)
        #expect(try await load(try session(AskedDelegate(.performDefaultHandling)))?.code == .serverNotTrusted)
        #expect(count == 2)
    }

    /// A session whose app judges chains gets no stored response of a load without that judgement.
    @Test func loadsWithADelegateGetNoAnswersStoredWithoutOne() async throws {
        let trust = try ServerTrust.only([site.authority.der])
        #expect(try await load(try session { $0.trust = trust }) == nil)
        let rejecting = try session(AskedDelegate(.rejectProtectionSpace)) { $0.trust = trust }
        #expect(try await load(rejecting)?.code == .serverNotTrusted)
        let judging = try session(AskedDelegate(.performDefaultHandling)) { $0.trust = trust }
        for _ in 0..<2 { #expect(try await load(judging) == nil) }
        #expect(count == 2 && cache.statistics.entries == 2)
    }

    /// What a server sent to the user whom it knows by the cookies of one jar is not for sessions with another.
    @Test func theCookieJarIsAPartOfTheKey() async throws {
        let trust = try ServerTrust.only([site.authority.der])
        let jars: [CookieJarSelection] = [.instance, .named("a"), .named("b"), .none]
        for _ in 0..<2 {
            for jar in jars {
                let reading = try session {
                    $0.trust = trust
                    $0.cookieJar = jar
                }
                #expect(try await load(reading) == nil)
            }
        }
        #expect(count == jars.count && cache.statistics.entries == jars.count)
    }

    /// What a server sent to the holder of one certificate is for that holder only.
    @Test func aClientCertificateIsAPartOfTheKey() async throws {
        let asking = try Site(TestAuthority(), requiring: clients)
        asking.answer { $0.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 2\r\n\r\nok") }
        let holders = try (0..<2).map { _ in try clients.client().clientIdentity }
        func load(_ holder: ClientIdentity?, _ delegate: AskedDelegate? = nil) async throws -> LoadError? {
            let session = try session(delegate) {
                $0.trust = try .only([asking.authority.der])
                if let holder { try $0.present(holder, to: "127.0.0.1") }
            }
            let failure = await session.failure(try asking.request())
            await cache.settle()
            return failure
        }
        for _ in 0..<2 { for holder in holders { #expect(try await load(holder) == nil) } }
        #expect(asking.seen.heads.count == 2 && cache.statistics.entries == 2)
        #expect(try await load(nil) != nil, "Without a certificate the server says nothing, and so does the cache.")
        let presenting = AskedDelegate(session: {
            $0.certificateRequest == nil ? .performDefaultHandling : .present(holders[0])
        })
        for _ in 0..<2 { #expect(try await load(nil, presenting) == nil) }
        #expect(asking.seen.heads.count == 4, "What the app shows when it is asked is for now.")
        #expect(cache.statistics.entries == 2)
    }
}
