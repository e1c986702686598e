import SallyportBase
import SallyportSecureStore
import Testing

/// Secrets that the store makes for other modules.
@Suite struct StoreSecretTests {
    @Test func aSecretIsTheStoresAndThePurposes() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let secret = store.secret(for: "principals").reveal()
        #expect(secret.count == 32 && secret != store.secret(for: "other").reveal())
        try await store.rotateDataKey()
        #expect(store.secret(for: "principals").reveal() == secret)
        store.close()
        let again = try await fixture.open()
        #expect(again.secret(for: "principals").reveal() == secret)
        #expect(try fixture.rawBytes().firstRange(of: secret) == nil)
        again.close()
        let another = try StoreFixture()
        let other = try await another.open()
        #expect(other.secret(for: "principals").reveal() != secret)
        other.close()
    }
}
