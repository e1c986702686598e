import Foundation
import Logging
import SallyportBase
import SallyportCore
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportCookies
@testable import SallyportSecureStore

/// A jar over a store: what stays, what goes, and when.
@Suite(.timeLimit(.minutes(1))) struct CookieJarTests {
    private static let site = "https://www.example.com/"

    @Test func persistentCookiesOutliveTheProcessAndSessionCookiesDoNot() async throws {
        let folder = try TemporaryDirectory()
        let first = try await JarFixture(in: folder)
        let jar = first.jar()
        try await jar.take(
            "id=1; Max-Age=3600; Secure; HttpOnly; SameSite=Strict; Domain=example.com; Path=/", "brief=2",
            "later=3; Max-Age=3600", at: Self.site)
        let before = try await jar.list().first
        await jar.shutdown()
        first.store.close()
        let second = try await JarFixture(in: folder)
        let again = second.jar()
        #expect(try await again.sent(to: Self.site) == "id=1; later=3")
        let after = try #require(try await again.list().first)
        #expect(after == before)
        #expect(after.isSecure && after.isHTTPOnly && after.sameSite == .strict && after.includesSubdomains)
        #expect(after.created == before?.created && after.expires == before?.expires)
        second.store.close()
    }

    /// Durable within 200 ms, without a call of `flush()`.
    @Test func aPersistentCookieIsSoonDurable() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let start = ContinuousClock.now
        try await jar.take("id=1; Max-Age=3600", at: Self.site)
        let storage = CookieStorage(fixture.store, jar: nil)
        let isThere = try await eventually(within: .seconds(10)) { try storage.load().records.count == 1 }
        #expect(isThere)
        // More than the promise: this machine may be busy.
        #expect(start.duration(to: .now) < Soak.second)
        // The jar learns of the change after it was written.
        #expect(try await eventually { jar.state.withLock { $0.pending.isEmpty } })
        fixture.store.close()
    }

    @Test func aRequestWritesNothing() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar(delay: .seconds(60))
        try await jar.take("id=1; Max-Age=36000000", at: Self.site)
        try await jar.flush()
        let commits = try fixture.store.statistics().lastCommit
        for _ in 0..<100 { #expect(try await jar.sent(to: Self.site) == "id=1") }
        #expect(jar.state.withLock { $0.pending.isEmpty })
        #expect(try fixture.store.statistics().lastCommit == commits)
        await jar.shutdown()
        #expect(try fixture.store.statistics().lastCommit == commits, "the clock stood still")
        fixture.store.close()
    }

    @Test func theLastUseIsWrittenAtShutdown() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.take("id=1; Max-Age=36000000", at: Self.site)
        fixture.advance(by: 60_000)
        _ = try await jar.sent(to: Self.site)
        await jar.shutdown()
        let stored = try #require(try CookieStorage(fixture.store, jar: nil).load().records.first)
        #expect(stored.entry.accessed == 1_700_000_060_000)
        await jar.shutdown()
        await #expect(throws: CookieError(.store, "")) { try await jar.removeEverything() }
        fixture.store.close()
    }

    @Test func cookiesThatBecomeSessionCookiesLeaveTheStore() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let storage = CookieStorage(fixture.store, jar: nil)
        try await jar.take("a=1; Max-Age=100", "b=2; Max-Age=100", "c=3; Max-Age=100", at: Self.site)
        try await jar.flush()
        try await jar.take("a=1", "b=; Max-Age=0", at: Self.site)
        try await jar.flush()
        #expect(try storage.load().records.map { $0.entry.pair } == [Array("c=3".utf8)])
        fixture.store.close()
    }

    @Test func cookiesThatExpiredAreNotLoadedAndLeaveTheStore() async throws {
        let fixture = try await JarFixture()
        let first = fixture.jar()
        try await first.take("a=1; Max-Age=100", "b=2; Max-Age=200", at: Self.site)
        await first.shutdown()
        fixture.advance(by: 100_000)
        let second = fixture.jar()
        #expect(try await second.sent(to: Self.site) == "b=2")
        try await second.flush()
        #expect(try CookieStorage(fixture.store, jar: nil).load().records.count == 1)
        fixture.store.close()
    }

    @Test func aClockThatWasWrongMakesNoCookieEternal() async throws {
        let fixture = try await JarFixture()
        fixture.advance(by: 100 * 365 * 86_400_000)
        let first = fixture.jar()
        try await first.take("a=1; Max-Age=99999999", at: Self.site)
        await first.shutdown()
        fixture.advance(by: -100 * 365 * 86_400_000)
        let second = fixture.jar()
        let cookie = try #require(try await second.list().first)
        #expect(cookie.expires == Date(timeIntervalSince1970: 1_700_000_000 + 400 * 86_400))
        fixture.store.close()
    }

    /// §5.8.3: what became a public suffix since.
    @Test func aDomainThatBecamePublicLosesItsCookies() async throws {
        let fixture = try await JarFixture()
        var entry = CookieEntry(
            name: [97], value: [98], host: .name("github.io"), isHostOnly: false, path: CookiePath.root,
            expiry: 1_800_000_000_000, created: 0, isSecure: false, isHTTPOnly: false, sameSite: .default)
        entry.number = 7
        let storage = CookieStorage(fixture.store, jar: nil)
        try await storage.write([7: .put(CookieRecord(entry, of: .instance).bytes)])
        let jar = fixture.jar()
        #expect(try await jar.list().isEmpty)
        try await jar.flush()
        #expect(try storage.load().records.isEmpty)
        fixture.store.close()
    }

    // MARK: Principals

    @Test func namedJarsShareNothing() async throws {
        let fixture = try await JarFixture()
        let (main, named) = (fixture.jar(), fixture.jar("x"))
        try await main.take("a=1; Max-Age=100", at: Self.site)
        try await named.take("a=2; Max-Age=100", at: Self.site)
        for jar in [main, named] { try await jar.flush() }
        #expect(try await fixture.jar().sent(to: Self.site) == "a=1")
        #expect(try await fixture.jar("x").sent(to: Self.site) == "a=2")
        #expect(try await fixture.jar("y").sent(to: Self.site) == nil)
        #expect(try CookieStorage.names(in: fixture.store) == ["x"])
        fixture.store.close()
    }

    @Test func principalsShareNothingInTheStoreEither() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let ann = Principal("ann"), bob = Principal("bob")
        try await jar.take("id=ann; Max-Age=100", at: Self.site, of: ann)
        try await jar.take("id=bob; Max-Age=100", at: Self.site, of: bob)
        try await jar.flush()
        let again = fixture.jar()
        #expect(try await again.sent(to: Self.site, of: ann) == "id=ann")
        #expect(try await again.sent(to: Self.site, of: bob) == "id=bob")
        #expect(try await again.sent(to: Self.site) == nil)
        #expect(try await again.principals() == [ann, bob])
        fixture.store.close()
    }

    @Test func twoSessionsWritingAtOnceLoseNothing() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar(delay: .milliseconds(1))
        try await jar.load()
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for number in 0..<50 {
                        _ = try? await jar.take(
                            "w\(writer)n\(number)=v; Max-Age=100", "shared=\(writer); Max-Age=100",
                            at: "https://h\(writer).example.com/")
                        _ = try? await jar.sent(to: "https://h\(writer).example.com/")
                    }
                }
            }
        }
        try await jar.flush()
        #expect(try await jar.list().count == 8 * 51)
        #expect(try await fixture.jar().list() == jar.list())
        fixture.store.close()
    }

    // MARK: Withdrawal

    @Test func aLockDropsSessionCookiesFromMemoryAndKeepsStoredOnes() async throws {
        let fixture = try await JarFixture()
        let gate = StubGate()
        let jar = fixture.jar(gate: gate)
        try await jar.take("session=1", "stored=2; Max-Age=100", at: Self.site)
        gate.close(AccessDenied(.withdrawn))
        jar.forget(isWiped: false)
        #expect(jar.state.withLock { $0.table.count } == 0)
        await #expect(throws: CookieError(.withdrawn, "")) { try await jar.list() }
        gate.close(nil)
        #expect(try await jar.sent(to: Self.site) == "stored=2")
        fixture.store.close()
    }

    @Test func afterALockWhatCouldNotBeWrittenIsThereAllTheSame() async throws {
        let folder = try TemporaryDirectory()
        let fixture = try await JarFixture(in: folder)
        let before = fixture.jar()
        try await before.take("a=1; Max-Age=100", "b=1; Max-Age=100", at: Self.site)
        await before.shutdown()
        fixture.store.close()
        var options = StoreOptions()
        options.isReadOnly = true
        let opened = try await TestStore(in: folder, options: options)
        let jar = CookieJar(
            name: nil, in: opened.store, gate: nil, logger: .init(label: "test"), clock: { 1_700_000_000_000 })
        try await jar.take("a=2; Max-Age=100", "b=1; Max-Age=0", "c=2; Max-Age=100", at: Self.site)
        await #expect(throws: CookieError.self) { try await jar.flush() }
        jar.forget(isWiped: false)
        #expect(try await jar.sent(to: Self.site) == "a=2; c=2")
        opened.close()
    }

    @Test func afterAWipeNothingIsWritten() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar(delay: .seconds(60))
        try await jar.take("stored=2; Max-Age=100", at: Self.site)
        jar.forget(isWiped: true)
        try await jar.flush()
        #expect(try CookieStorage(fixture.store, jar: nil).load().records.isEmpty)
        fixture.store.close()
    }

    @Test func beforeAuthorizationEverythingIsRefused() async throws {
        let fixture = try await JarFixture()
        let gate = StubGate()
        gate.close(AccessDenied(.notAuthorized))
        let jar = fixture.jar(gate: gate)
        let cookie = try Cookie(name: "a", value: "b", domain: "a.example")
        await #expect(throws: CookieError(.notAuthorized, "")) { try await jar.list() }
        await #expect(throws: CookieError(.notAuthorized, "")) { try await jar.set(cookie) }
        await #expect(throws: CookieError(.notAuthorized, "")) { try await jar.removeEverything() }
        await #expect(throws: CookieError(.notAuthorized, "")) { try await jar.exportCookies(as: .json) }
        fixture.store.close()
    }

    // MARK: Faults

    @Test func aDamagedRecordIsOneLostCookie() async throws {
        let fixture = try await JarFixture()
        let first = fixture.jar()
        for number in 0..<5 { try await first.take("n\(number)=v; Max-Age=100", at: Self.site) }
        await first.shutdown()
        let collection = fixture.store.reservedCollection("cookies", of: [UInt8].self, keyedBy: UInt64.self)
        try await fixture.store.write { transaction in
            let place = collection.cipher.place(of: UInt64(3).storeBytes)
            var record = try #require(try transaction.record(at: place))
            record[record.count - 1] ^= 1
            transaction.overwrite(place, with: record)
            try transaction.set([9, 9, 9], for: 5, in: collection)
        }
        let jar = fixture.jar()
        #expect(try await jar.sent(to: Self.site) == "n0=v; n1=v; n3=v")
        try await jar.take("new=1; Max-Age=100", at: Self.site)
        try await jar.flush()
        #expect(try await fixture.jar().sent(to: Self.site) == "n0=v; n1=v; n3=v; new=1")
        fixture.store.close()
    }

    @Test func unwrittenChangesStayInMemoryAndAreRetried() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar(delay: .seconds(60))
        try await jar.take("a=1; Max-Age=100", at: Self.site)
        fixture.store.close()
        await #expect(throws: CookieError(.store, "")) { try await jar.flush() }
        #expect(try await jar.sent(to: Self.site) == "a=1")
        #expect(jar.state.withLock { $0.pending.count } == 1)
        await #expect(throws: CookieError(.store, "")) { try await JarFixture.unloaded(fixture).load() }
    }

    @Test func thousandsOfCookiesFromOneHostStayBounded() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.load()
        let fields = (0..<4000).map { Array("n\($0)=v; Max-Age=100".utf8) }
        #expect(jar.receive(fields, for: try .to(Self.site), of: .instance) == 4000)
        try await jar.flush()
        #expect(try await jar.list().count == CookieJar.maximumPerDomain)
        #expect(try CookieStorage(fixture.store, jar: nil).load().records.count == CookieJar.maximumPerDomain)
        fixture.store.close()
    }

    @Test func noValueLiesInTheFilesOfTheStore() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.take(
            "PLANTEDNAME=PLANTEDVALUE; Max-Age=100; Path=/PLANTEDPATH; Domain=planteddomain.example",
            at: "https://planteddomain.example/")
        await jar.shutdown()
        fixture.store.close()
        var read = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("store")) {
            let data = try Data(contentsOf: URL(fileURLWithPath: fixture.folder.file("store/\(name)")))
            read += data.count
            for secret in ["PLANTED", "planteddomain"] {
                #expect(data.range(of: Data(secret.utf8)) == nil, "\(name)")
            }
        }
        #expect(read > 4096)
    }
}

extension JarFixture {
    static func unloaded(_ fixture: JarFixture) -> CookieJar { fixture.jar("other") }
}
