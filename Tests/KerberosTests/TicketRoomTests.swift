import SallyportBase
import SallyportConnecting
import SallyportCore
import SallyportSecureStore
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportKerberos

/// How many users have tickets and passwords in memory and in the store.
@Suite(.timeLimit(.minutes(1)))
struct TicketRoomTests {
    private let connector = Connector(gate: OpenGate())

    private func kerberos(in store: SecureStore? = nil, limit: Int = 3) -> Kerberos {
        Kerberos(in: store, tunnels: connector.tunnels, realms: RealmServers(), limit: limit)
    }

    /// Each of an app's own users is a principal.
    private func owner(_ name: String) throws -> TicketOwner {
        TicketOwner(principal: Principal(name), user: try KerberosUser("\(name)@EXAMPLE.TEST"))
    }

    private func take(_ names: String..., into kerberos: Kerberos) async throws {
        for name in names { try await kerberos.take(Redacted("secret"), for: owner(name)) }
    }

    private func names(_ kerberos: Kerberos) async -> [String] {
        await kerberos.state.books.keys.map(\.principal.name).sorted()
    }

    @Test func theUserWhoWasUsedLeastRecentlyMakesRoom() async throws {
        let kerberos = kerberos()
        try await take("a", "b", "c", "a", "d", into: kerberos)
        #expect(await names(kerberos) == ["a", "c", "d"])
        await kerberos.wasUsed(try owner("c"))
        try await take("e", into: kerberos)
        #expect(await names(kerberos) == ["c", "d", "e"])
        await connector.shutdown()
    }

    @Test func anAppMayHaveAThousandUsers() async throws {
        let kerberos = kerberos(limit: Kerberos.limit)
        for number in 0...1024 { try await take("\(number)", into: kerberos) }
        let names = await names(kerberos)
        #expect(names.count == 1024 && !names.contains("0") && names.contains("1"))
        await connector.shutdown()
    }

    @Test func aUserWithoutTicketsAndPasswordMakesRoomFirst() async throws {
        let kerberos = kerberos()
        try await take("a", "b", "c", into: kerberos)
        await kerberos.forgetPassword(of: try owner("c"))
        try await take("d", into: kerberos)
        #expect(await names(kerberos) == ["a", "b", "d"])
        await connector.shutdown()
    }

    @Test func keytabsAndCachesStayAndTakeNoPlace() async throws {
        let kerberos = kerberos(limit: 2)
        try await take("a", "b", into: kerberos)
        for name in ["s1", "s2", "s3"] {
            await kerberos.take(.secret(.keytab("/etc/\(name).keytab")), for: try owner(name))
        }
        await kerberos.take(.cache("/tmp/cache"), for: try owner("cache"))
        #expect(await names(kerberos) == ["a", "b", "cache", "s1", "s2", "s3"])
        try await take("c", into: kerberos)
        #expect(await names(kerberos) == ["b", "c", "cache", "s1", "s2", "s3"])
        await connector.shutdown()
    }

    @Test func aUserWhoseTicketIsAwaitedStays() async throws {
        let kerberos = kerberos()
        let awaited = try owner("a")
        await kerberos.beginWait(for: awaited)
        await kerberos.beginWait(for: awaited)
        try await take("a", "b", "c", "d", into: kerberos)
        #expect(await names(kerberos) == ["a", "b", "c", "d"], "the awaited one does not count")
        await kerberos.endWait(for: awaited)
        try await take("e", into: kerberos)
        #expect(await names(kerberos) == ["a", "c", "d", "e"])
        await kerberos.endWait(for: awaited)
        #expect(await names(kerberos) == ["c", "d", "e"])
        await connector.shutdown()
    }

    @Test func usersWhosePasswordsAreRefusedTakeNoPlace() async throws {
        let kerberos = kerberos()
        try await take("a", "b", "c", into: kerberos)
        let refused = try ["x", "y", "z"].map { try owner($0) }
        for owner in refused {
            await kerberos.beginWait(for: owner)
            try await kerberos.take(Redacted("wrong"), for: owner)
        }
        #expect(await names(kerberos) == ["a", "b", "c", "x", "y", "z"])
        for owner in refused {
            await kerberos.forgetPassword(of: owner)
            await kerberos.endWait(for: owner)
        }
        #expect(await names(kerberos) == ["a", "b", "c"])
        await connector.shutdown()
    }

    @Test func lookingForTheTicketsOfANewUserTakesNoPlace() async throws {
        let kerberos = kerberos()
        try await take("a", "b", "c", into: kerberos)
        let tickets = try await kerberos.ticketsAtHand(
            for: ServiceName(service: "HTTP", host: "localhost"), of: owner("x"), password: Redacted("unverified"))
        #expect(tickets == nil)
        #expect(await names(kerberos) == ["a", "b", "c"])
        await connector.shutdown()
    }

    @Test func aRecordThatCannotBeRemovedIsReported() async throws {
        let folder = try TemporaryDirectory()
        let store = try await TestStore(in: folder)
        let storage = TicketStorage(store.store)
        store.close()
        let failures = Lock(0)
        storage.remove([try owner("a")]) { result in
            if case .failure = result { failures.withLock { $0 += 1 } }
        }
        #expect(failures.withLock { $0 } == 1)
        await connector.shutdown()
    }

    @Test func recordsFollow() async throws {
        let folder = try TemporaryDirectory()
        let store = try await TestStore(in: folder)
        let storage = TicketStorage(store.store)
        for name in ["a", "b", "c", "d", "e"] {
            try await storage.write(try owner(name), TicketRecord(try owner(name), []))
        }
        let kerberos = kerberos(in: store.store)
        #expect(try await kerberos.tickets().isEmpty)
        #expect(await names(kerberos).count == 3)
        // Waits for what was queued before.
        try await store.store.write { _ in }
        let kept = await names(kerberos)
        #expect(try storage.load().map(\.owner.principal.name).sorted() == kept)
        try await take("f", "g", "h", into: kerberos)
        try await store.store.write { _ in }
        #expect(try storage.load().isEmpty)
        store.close()
        await connector.shutdown()
    }
}
