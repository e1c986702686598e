import FoundationEssentials
import Glibc
import SallyportPKCS11Protector
import SallyportSecureStore
import Testing

/// Against SoftHSM, a token in software (Debian: `softhsm2`).
///
/// One process has one configuration of it, so that the suite has one directory of tokens for all its tests.
@Suite(.serialized) struct PKCS11ProtectorTests {
    private static let module = "/usr/lib/softhsm/libsofthsm2.so"

    private struct Tokens {
        let path: String
        let isReady: Bool

        /// Makes the tokens `one` and `two`, PIN 1234.
        init() {
            path = "/tmp/sallyport-tokens-\(UUID().uuidString)"
            try? FileManager.default.createDirectory(atPath: "\(path)/tokens", withIntermediateDirectories: true)
            let configuration = "directories.tokendir = \(path)/tokens\nobjectstore.backend = file\nlog.level = ERROR\n"
            try? Data(configuration.utf8).write(to: URL(fileURLWithPath: "\(path)/softhsm2.conf"))
            setenv("SOFTHSM2_CONF", "\(path)/softhsm2.conf", 1)
            isReady = ["one", "two"].allSatisfy { label in
                run(["softhsm2-util", "--init-token", "--free", "--label", label, "--pin", "1234", "--so-pin", "5678"])
            }
        }
    }

    private static let tokens = Tokens()
    private let directory = "/tmp/sallyport-pkcs11-\(UUID().uuidString)"

    private func protector(_ token: String = "one", key: String = "sallyport", pin: String = "1234") -> PKCS11Protector
    {
        PKCS11Protector(module: Self.module, token: token, keyLabel: key, pin: pin)
    }

    private func open(_ protector: PKCS11Protector) async throws(StoreError) -> SecureStore {
        try await SecureStore.open(at: directory, protectedBy: protector)
    }

    private func code(_ protector: PKCS11Protector) async -> StoreError.Code? {
        await #expect(throws: StoreError.self) { try await open(protector) }?.code
    }

    @Test func theTokenOpensTheStoreAndNothingElseDoes() async throws {
        try #require(Self.tokens.isReady, "softhsm2 is missing: make dependencies")
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
        try #require(Self.tokens.isReady, "softhsm2 is missing: make dependencies")
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await open(protector()).close()
        let other = PKCS11Protector(module: Self.module, token: "two", pin: "1234")
        _ = try other.makeWrappingKey()
        #expect(await code(other) == .wrongKey)
    }

    @Test func aStoreMovesFromAKeyFileToTheToken() async throws {
        try #require(Self.tokens.isReady, "softhsm2 is missing: make dependencies")
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
        try #require(Self.tokens.isReady, "softhsm2 is missing: make dependencies")
        let (first, salt) = try protector().makeWrappingKey()
        #expect(try protector().wrappingKey(parameters: salt) == first)
        #expect(try protector().makeWrappingKey().key != first, "each store has a salt of its own")
        #expect(throws: StoreError.self) { try protector().wrappingKey(parameters: [1]) }
        var text = ""
        dump(protector(pin: "planted-4711"), to: &text)
        #expect(!"\(protector(pin: "planted-4711"))\(text)".contains("planted-4711"))
    }
}

/// Runs a program; true where it exits with 0.
private func run(_ arguments: [String]) -> Bool {
    var child = pid_t()
    var words: [UnsafeMutablePointer<CChar>?] = (["env"] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    guard posix_spawn(&child, "/usr/bin/env", &actions, nil, &words, environ) == 0 else { return false }
    var status: Int32 = 0
    return waitpid(child, &status, 0) == child && status == 0
}
