import SallyportBase
import SallyportCore
import SallyportSecureStore
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// The servers that accepted credentials, and who the principals are there, over restarts.
@Suite(.timeLimit(.minutes(1)))
struct PlaceStorageTests {
    private static let space = ProtectionSpace(origin: "https://a.example:443", realm: "r", method: .basic)
    private static let ann = Principal("ann")
    private static let place = CredentialPlace(principal: ann, origin: space.origin)

    private struct Failure: Error {}

    private actor Follower: CredentialFollower {
        private(set) var cleared: [[CredentialPlace]] = []
        /// How many of the next calls fail.
        private var failures: Int

        init(failing failures: Int = 0) { self.failures = failures }

        func credentialsCleared(for method: AuthenticationMethod?, at places: [CredentialPlace]) async throws {
            cleared.append(places)
            guard failures > 0 else { return }
            failures -= 1
            throw Failure()
        }
    }

    private func accept(
        _ user: String = "ann", in credentials: CredentialStorage, at space: ProtectionSpace = space,
        persistence: Credential.Persistence = .forSession, since start: UInt64? = nil
    ) async {
        await credentials.accepted(
            Credential(user: user, password: Redacted("secret"), persistence: persistence), for: space, of: Self.ann,
            scopes: ["/"], since: start ?? credentials.generation)
    }

    /// Whether the principal is another user in a space.
    private func refuses(
        _ credentials: CredentialStorage, _ user: String, at space: ProtectionSpace = space
    ) async -> Bool {
        do throws(LoadError) {
            try await credentials.check(
                Credential(user: user, password: Redacted("secret")), for: space, of: Self.ann)
            return false
        } catch {
            return error.code == .otherPrincipal
        }
    }

    /// What was queued is written.
    private func settle(_ kept: TestStore) async throws { try await kept.store.write { _ in } }

    private func places(in kept: TestStore) -> StoreCollection<String, [UInt8]> {
        kept.store.reservedCollection("credentials.places", of: [UInt8].self)
    }

    private func stored(in kept: TestStore) throws -> [(String, [UInt8])] {
        let places = places(in: kept)
        return try kept.store.read { try $0.all(in: places) }
    }

    // MARK: Servers

    @Test func clearingTellsOfTheServersThatAcceptedInAnEarlierProcess() async throws {
        let kept = try await TestStore()
        let earlier = CredentialStorage(in: kept.store)
        await accept(in: earlier)
        await earlier.shutdown()
        try await settle(kept)
        let follower = Follower()
        let credentials = CredentialStorage(in: kept.store, followedBy: [follower])
        await credentials.clear(for: .digest)
        await credentials.clear(for: .basic)
        await credentials.clear()
        #expect(await follower.cleared == [[], [Self.place], []])
        kept.close()
    }

    /// A lock drops the credentials, and leaves the stored cookies and answers.
    @Test func clearingTellsOfTheServersThatAcceptedBeforeALock() async throws {
        let kept = try await TestStore()
        let follower = Follower()
        let credentials = CredentialStorage(in: kept.store, followedBy: [follower])
        await accept(in: credentials)
        await credentials.forget()
        await credentials.clear()
        #expect(await follower.cleared == [[Self.place]])
        #expect(PlaceStorage(kept.store).all().isEmpty)
        kept.close()
    }

    /// The cookies and the answer of that load are kept, and must go with the next clearing.
    @Test func clearingTellsOfTheServerOfALoadThatWentOnDuringTheClearingBefore() async throws {
        let kept = try await TestStore()
        let follower = Follower()
        let credentials = CredentialStorage(in: kept.store, followedBy: [follower])
        let start = credentials.generation
        await credentials.clear()
        await accept(in: credentials, since: start)
        #expect(credentials.knowsNobody)
        await credentials.clear()
        #expect(await follower.cleared == [[], [Self.place]])
        kept.close()
    }

    /// A follower fails for example while the app is locked: stored cookies cannot be removed then.
    @Test func aClearingThatAFollowerCouldNotCarryOutIsRepeatedByTheNext() async throws {
        let kept = try await TestStore()
        let (failing, other) = (Follower(failing: 1), Follower())
        let credentials = CredentialStorage(in: kept.store, followedBy: [failing, other])
        await accept(in: credentials)
        try await settle(kept)
        for _ in 0..<3 { await credentials.clear() }
        for follower in [failing, other] {
            #expect(await follower.cleared == [[Self.place], [Self.place], []])
        }
        #expect(PlaceStorage(kept.store).all().isEmpty)
        kept.close()
    }

    @Test func onePlaceMoreThanTheLimitIsNotStoredUntilThereIsRoom() async throws {
        let kept = try await TestStore()
        let places = PlaceStorage(kept.store, limit: 2)
        let spaces = ["line\nline", "", "ann"].map { PlaceStorage.Space(Self.space, of: Principal($0)) }
        func add(_ space: PlaceStorage.Space) { places.add(places.user("ann", in: space), at: space.entry) }
        for space in spaces { add(space) }
        try await settle(kept)
        #expect(places.all() == Set(spaces.prefix(2).map(\.entry)))
        let isRemoved = await places.remove([spaces[0].entry])
        #expect(isRemoved)
        add(spaces[2])
        try await settle(kept)
        #expect(places.all() == Set(spaces.suffix(2).map(\.entry)))
        kept.close()
    }

    // MARK: Users

    /// The principal's stored cookies and answers are the first user's.
    @Test(arguments: [Credential.Persistence.forSession, Credential.Persistence.none])
    func aPrincipalIsTheSameUserAfterARestartUntilItIsCleared(_ persistence: Credential.Persistence) async throws {
        let folder = try TemporaryDirectory()
        var kept = try await TestStore(in: folder)
        let earlier = CredentialStorage(in: kept.store)
        await accept(in: earlier, persistence: persistence)
        await earlier.shutdown()
        try await settle(kept)
        kept.close()
        kept = try await TestStore(in: folder)
        let credentials = CredentialStorage(in: kept.store)
        #expect(credentials.knowsNobody)
        #expect(await refuses(credentials, "bob"))
        #expect(await !refuses(credentials, "ann"))
        let other = ProtectionSpace(origin: Self.space.origin, realm: "other", method: .basic)
        #expect(await !refuses(credentials, "bob", at: other), "a realm of its own has a user of its own")
        await credentials.clear(for: .digest)
        #expect(await refuses(credentials, "bob"))
        await credentials.clear(for: .basic)
        #expect(await !refuses(credentials, "bob"))
        await accept("bob", in: credentials)
        try await settle(kept)
        let later = CredentialStorage(in: kept.store)
        #expect(await refuses(later, "ann"))
        #expect(await !refuses(later, "bob"))
        kept.close()
    }

    /// A lock drops the credentials. It may come before the user is written.
    @Test func aPrincipalIsTheSameUserAfterALock() async throws {
        let kept = try await TestStore()
        let credentials = CredentialStorage(in: kept.store)
        await accept(in: credentials)
        await credentials.withdrawn(AccessChange(from: .open(revision: 1), to: .withdrawn(.remoteLockout)))
        #expect(credentials.knowsNobody)
        #expect(await refuses(credentials, "bob"))
        #expect(await !refuses(credentials, "ann"))
        await credentials.clear()
        #expect(await !refuses(credentials, "bob"))
        kept.close()
    }

    @Test func aPrincipalIsTheSameUserInASpaceThatMemoryHasForgotten() async throws {
        let kept = try await TestStore()
        let credentials = CredentialStorage(in: kept.store)
        let spaces = (0...CredentialBook.limit).map {
            ProtectionSpace(origin: "https://a\($0).example:443", realm: nil, method: .basic)
        }
        for space in spaces { await accept(in: credentials, at: space) }
        try await settle(kept)
        #expect(await credentials.credential(for: spaces[0], of: Self.ann) == nil)
        #expect(await refuses(credentials, "bob", at: spaces[0]))
        #expect(await !refuses(credentials, "ann", at: spaces[0]))
        kept.close()
    }

    /// The cookies and the answer of that load are its user's.
    @Test func theUserOfALoadThatWentOnDuringAClearingIsKnown() async throws {
        let kept = try await TestStore()
        let credentials = CredentialStorage(in: kept.store)
        let start = credentials.generation
        await credentials.clear()
        await accept(in: credentials, since: start)
        #expect(credentials.knowsNobody)
        #expect(await refuses(credentials, "bob"))
        await credentials.clear()
        #expect(await !refuses(credentials, "bob"))
        kept.close()
    }

    /// Both loads went on when the other user's answer came.
    @Test(arguments: [true, false])
    func aUserWhoIsAcceptedCountsInsteadOfOneFromBeforeTheClearing(_ isLateFirst: Bool) async throws {
        let kept = try await TestStore()
        let credentials = CredentialStorage(in: kept.store)
        let start = credentials.generation
        await credentials.clear()
        if isLateFirst { await accept(in: credentials, since: start) }
        await accept("bob", in: credentials)
        if !isLateFirst { await accept(in: credentials, since: start) }
        try await settle(kept)
        for storage in [credentials, CredentialStorage(in: kept.store)] {
            #expect(await refuses(storage, "ann"))
            #expect(await !refuses(storage, "bob"))
        }
        kept.close()
    }

    /// Followers hide at once what they cannot remove from the store, but only until the process ends.
    @Test func aClearingThatAFollowerCouldNotCarryOutHoldsInItsProcess() async throws {
        let kept = try await TestStore()
        let credentials = CredentialStorage(in: kept.store, followedBy: [Follower(failing: 1)])
        await accept(in: credentials)
        try await settle(kept)
        await credentials.clear()
        #expect(await !refuses(credentials, "bob"))
        let next = CredentialStorage(in: kept.store)
        #expect(await refuses(next, "bob"))
        await accept("bob", in: credentials)
        try await settle(kept)
        #expect(await refuses(next, "ann"))
        await next.clear()
        #expect(await !refuses(next, "ann"))
        kept.close()
    }

    /// Places were once stored without users.
    @Test func theFirstUserIsTakenAtAPlaceThatWasStoredWithoutOne() async throws {
        let kept = try await TestStore()
        let places = places(in: kept)
        try await kept.store.write { try $0.set([], for: "basic\nhttps://a.example:443\nann", in: places) }
        let credentials = CredentialStorage(in: kept.store)
        #expect(await !refuses(credentials, "bob"))
        await accept("bob", in: credentials)
        try await settle(kept)
        #expect(try stored(in: kept).count == 1)
        #expect(await refuses(CredentialStorage(in: kept.store), "ann"))
        kept.close()
    }

    @Test func theNameOfAUserIsNotStored() async throws {
        let kept = try await TestStore()
        await accept("PLANTED", in: CredentialStorage(in: kept.store))
        try await settle(kept)
        let records = try stored(in: kept)
        #expect(records.count == 1)
        for (key, value) in records {
            #expect(!key.contains("PLANTED") && !String(decoding: value, as: UTF8.self).contains("PLANTED"))
            #expect(value.count == 2 * PlaceUsers.codeLength)
        }
        kept.close()
    }

    @Test func whatIsStoredOfAUserDependsOnTheSpaceAndOnTheStoresKey() async throws {
        let (kept, other) = (try await TestStore(), try await TestStore())
        let places = PlaceStorage(kept.store)
        let realms: [String?] = [nil, "", "r", "1:r"]
        let spaces = realms.map {
            PlaceStorage.Space(
                ProtectionSpace(origin: Self.space.origin, realm: $0, method: .basic), of: Self.ann)
        }
        let users = spaces.map { places.user("ann", in: $0) }
        #expect(users == spaces.map { places.user("ann", in: $0) })
        let others = [
            places.user("ann", in: PlaceStorage.Space(Self.space, of: .instance)),
            PlaceStorage(other.store).user("ann", in: spaces[2]),
        ]
        #expect(Set((users + others).map(\.realm)).count == 6)
        #expect(Set((users + others).map(\.code)).count == 6)
        kept.close()
        other.close()
    }

    private func user(_ realm: Int, _ code: Int) -> PlaceUsers.User {
        func bytes(_ number: Int) -> [UInt8] {
            [UInt8(number & 255), UInt8(number >> 8)] + [UInt8](repeating: 7, count: PlaceUsers.codeLength - 2)
        }
        return PlaceUsers.User(realm: bytes(realm), code: bytes(code))
    }

    @Test func usersAreReadAsTheyWereStored() {
        var users = PlaceUsers()
        for realm in 0..<3 { users.note(user(realm, realm)) }
        users.note(user(1, 9))
        #expect(PlaceUsers(stored: users.stored) == users)
        #expect(users.hasOther(than: user(1, 1)) && !users.hasOther(than: user(1, 9)))
        #expect(!users.hasOther(than: user(3, 1)))
        for count in [0, 1, 31] { #expect(PlaceUsers(stored: [UInt8](repeating: 0, count: count)) == PlaceUsers()) }
    }

    @Test func realmsThatAServerMakesUpHaveALimit() {
        var users = PlaceUsers()
        for realm in 0...PlaceUsers.limit { users.note(user(realm, 1)) }
        #expect(users.stored.count == PlaceUsers.limit * 2 * PlaceUsers.codeLength)
        users.note(user(0, 2))
        #expect(users.hasOther(than: user(0, 1)) && !users.hasOther(than: user(PlaceUsers.limit, 2)))
    }
}
