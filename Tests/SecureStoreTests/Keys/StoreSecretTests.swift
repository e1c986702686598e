import SallyportBase
import SallyportSecureStore
import Testing

/// Secrets that the store makes for other modules.
@Suite struct StoreSecretTests {
    @Test func aSecretIsTheStoresAndThePurposes() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let secret = try store.secret(for: "principals").reveal()
        let other = try store.secret(for: "other").reveal()
        #expect(secret.count == 32 && secret != other)
        try await store.rotateDataKey()
        #expect(try store.secret(for: "principals").reveal() == secret)
        store.close()
        let again = try await fixture.open()
        #expect(try again.secret(for: "principals").reveal() == secret)
        #expect(try fixture.rawBytes().firstRange(of: secret) == nil)
        again.close()
        let otherFixture = try StoreFixture()
        let otherStore = try await otherFixture.open()
        #expect(try otherStore.secret(for: "principals").reveal() != secret)
        otherStore.close()
    }

    @Test func aSecretIsAnotherOneAfterAWipe() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let secret = try store.secret(for: "principals").reveal()
        try await store.wipe()
        #expect(throws: StoreError.self) { try store.secret(for: "principals") }
        let again = try await fixture.open()
        #expect(try again.secret(for: "principals").reveal() != secret)
        again.close()
    }

    /// Its keys are cleared, and two stores without keys would have the same secret.
    @Test func aClosedStoreHasNoSecret() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        store.close()
        let error = #expect(throws: StoreError.self) { try store.secret(for: "principals") }
        #expect(error?.code == .closed)
        let first = store.secretOrRandom(for: "principals").reveal()
        #expect(first.count == 32 && first != store.secretOrRandom(for: "principals").reveal())
    }
}
