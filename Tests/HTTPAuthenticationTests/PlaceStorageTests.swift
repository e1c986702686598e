import SallyportBase
import SallyportCore
import SallyportSecureStore
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// The servers that accepted credentials, over restarts.
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

    private func accept(in credentials: CredentialStorage, since start: UInt64? = nil) async {
        await credentials.accepted(
            Credential(user: "ann", password: Redacted("secret")), for: Self.space, of: Self.ann, scopes: ["/"],
            since: start ?? credentials.generation)
    }

    @Test func clearingTellsOfTheServersThatAcceptedInAnEarlierProcess() async throws {
        let kept = try await TestStore()
        let earlier = CredentialStorage(in: kept.store)
        await accept(in: earlier)
        await earlier.shutdown()
        // What was queued is written.
        try await kept.store.write { _ in }
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
        // What was queued is written.
        try await kept.store.write { _ in }
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
        let entries = ["line\nline", "", "ann"].map {
            PlaceStorage.Entry(.basic, CredentialPlace(principal: Principal($0), origin: Self.space.origin))
        }
        for entry in entries { places.add(entry) }
        // What was queued is written.
        try await kept.store.write { _ in }
        #expect(places.all() == Set(entries.prefix(2)))
        await places.remove([entries[0]])
        places.add(entries[2])
        try await kept.store.write { _ in }
        #expect(places.all() == Set(entries.suffix(2)))
        kept.close()
    }
}
