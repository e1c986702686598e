import FoundationEssentials
import Glibc
import SallyportPKCS11Protector
import SallyportSecureStore
import Testing

/// Against SoftHSM, a token in software (Debian: `softhsm2`).
///
@Suite(.serialized) struct PKCS11ProtectorTests {
    private let directory = "/tmp/sallyport-pkcs11-\(UUID().uuidString)"

    private func protector(_ token: String = "one", key: String = "sallyport", pin: String = "1234") -> PKCS11Protector
    {
        PKCS11Protector(module: Tokens.module, token: token, keyLabel: key, pin: pin)
    }

    private func open(_ protector: PKCS11Protector) async throws(StoreError) -> SecureStore {
        try await SecureStore.open(at: directory, protectedBy: protector)
    }

    private func code(_ protector: PKCS11Protector) async -> StoreError.Code? {
        await #expect(throws: StoreError.self) { try await open(protector) }?.code
    }

    @Test func theTokenOpensTheStoreAndNothingElseDoes() async throws {
        try #require(Tokens.shared.isReady, "softhsm2 is missing: make dependencies")
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try await open(protector())
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { try $0.set("x", for: "a", in: texts) }
        store.close()
        let again = try await open(protector())
        #expect(try again.read { try $0.value(for: "a", in: again.collection("t", of: String.self)) } == "x")
        again.close()

        #expect(await code(protector(pin: "4321")) == .wrongKey)
        #expect(await code(protector(key: "another")) == .keyUnavailable)
        #expect(await code(protector("none")) == .keyUnavailable)
        #expect(await code(PKCS11Protector(module: "/nowhere.so", token: "one", pin: "1234")) == .keyUnavailable)
        #expect(await code(PKCS11Protector(module: "libm.so.6", token: "one", pin: "1234")) == .keyUnavailable)
        try await open(protector()).close()
    }

    @Test func anotherTokensSecretOfTheSameNameIsAnotherKey() async throws {
        try #require(Tokens.shared.isReady, "softhsm2 is missing: make dependencies")
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await open(protector()).close()
        let other = PKCS11Protector(module: Tokens.module, token: "two", pin: "1234")
        _ = try other.makeWrappingKey()
        #expect(await code(other) == .wrongKey)
    }

    @Test func aStoreMovesFromAKeyFileToTheToken() async throws {
        try #require(Tokens.shared.isReady, "softhsm2 is missing: make dependencies")
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try await SecureStore.open(at: directory, protectedBy: .keyFile("\(directory)/key"))
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { try $0.set("x", for: "a", in: texts) }
        try await store.changeProtector(to: protector())
        store.close()
        let again = try await open(protector())
        #expect(try again.read { try $0.value(for: "a", in: again.collection("t", of: String.self)) } == "x")
    }

    @Test func theSecretStaysInTheTokenAndThePINOutOfSight() throws {
        try #require(Tokens.shared.isReady, "softhsm2 is missing: make dependencies")
        let (first, salt) = try protector().makeWrappingKey()
        #expect(try protector().wrappingKey(parameters: salt) == first)
        #expect(try protector().makeWrappingKey().key != first, "each store has a salt of its own")
        #expect(throws: StoreError.self) { try protector().wrappingKey(parameters: [1]) }
        var text = ""
        dump(protector(pin: "planted-4711"), to: &text)
        #expect(!"\(protector(pin: "planted-4711"))\(text)".contains("planted-4711"))
    }
}
