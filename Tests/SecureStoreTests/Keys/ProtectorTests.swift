import CSecureStore
import Crypto
import FoundationEssentials
import Glibc
import Testing

@testable import SallyportSecureStore

@Suite struct KernelKeyringTests {
    /// Some containers forbid the calls.
    static let isAllowed: Bool = {
        let protector = KernelKeyringProtector(description: "sallyport-probe-\(getpid())", keyring: .process)
        guard (try? protector.makeWrappingKey()) != nil else { return false }
        return (try? protector.removeKey()) != nil
    }()

    @Test(.enabled(if: isAllowed), arguments: [KernelKeyringProtector.Keyring.process, .user])
    func aKeyInTheKernelOpensTheStoreUntilItIsRemoved(_ keyring: KernelKeyringProtector.Keyring) async throws {
        let fixture = try StoreFixture()
        let protector = KernelKeyringProtector(description: "sallyport-test-\(UUID())", keyring: keyring)
        defer { try? protector.removeKey() }
        try await SecureStore.open(at: fixture.directory, protectedBy: protector).close()
        try await SecureStore.open(at: fixture.directory, protectedBy: protector, options: .existing).close()
        try protector.removeKey()
        let error = await #expect(throws: StoreError.self) {
            try await SecureStore.open(at: fixture.directory, protectedBy: protector, options: .existing)
        }
        #expect(error?.code == .keyUnavailable)
    }

    /// Two processes that look at the same time both find none, and both add one.
    @Test(.enabled(if: isAllowed), arguments: [KernelKeyringProtector.Keyring.process, .user])
    func aKeyThatIsAddedTwiceStaysTheFirst(_ keyring: KernelKeyringProtector.Keyring) throws {
        let protector = KernelKeyringProtector(description: "sallyport-test-\(UUID())", keyring: keyring)
        defer { try? protector.removeKey() }
        let (key, parameters) = try protector.makeWrappingKey()
        try protector.add()
        #expect(try protector.wrappingKey(parameters: parameters) == key)
    }

    /// One that stayed would count in the user's quota of keys as long as the thread lives, as would those of the
    /// threads that it starts.
    @Test(.enabled(if: isAllowed), arguments: [KernelKeyringProtector.Keyring.process, .user])
    func addingAKeyLeavesNoKeyringInTheThread(_ keyring: KernelKeyringProtector.Keyring) throws {
        let protector = KernelKeyringProtector(description: "sallyport-test-\(UUID())", keyring: keyring)
        defer { try? protector.removeKey() }
        try protector.add()
        // Keyring -1 is the calling thread's; reading it does not make it.
        let length = sp_keyring_read(-1, nil, 0)
        #expect(length == -1)
    }
}

@Suite struct KeyFileTests {
    @Test func aFileThatCameMeanwhileIsKept() throws {
        let fixture = try StoreFixture()
        try Files.createIfMissing(fixture.keyFile, with: [1, 2], mode: 0o600)
        try Files.createIfMissing(fixture.keyFile, with: [3], mode: 0o600)
        #expect(try Files.read(fixture.keyFile, upTo: 10) == [1, 2])
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path) == ["key"])
    }

    @Test(.timeLimit(.minutes(1))) func storesThatAreOpenedAtOnceWithANewKeyFileShareIt() async throws {
        for _ in 0..<5 {
            let fixture = try StoreFixture()
            let paths = (0..<8).map { "\(fixture.path)/store\($0)" }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for path in paths {
                    group.addTask {
                        try await SecureStore.open(at: path, protectedBy: .keyFile(fixture.keyFile)).close()
                    }
                }
                try await group.waitForAll()
            }
            for path in paths {
                try await SecureStore.open(at: path, protectedBy: .keyFile(fixture.keyFile), options: .existing).close()
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: fixture.path)
            #expect(names.count == paths.count + 1, "\(names)")
        }
    }
}

@Suite struct SystemdCredentialTests {
    @Test func aCredentialOpensTheStore() async throws {
        let fixture = try StoreFixture()
        // One directory for the process, as systemd has it; other tests do not use it.
        setenv("CREDENTIALS_DIRECTORY", fixture.path, 1)
        defer { unsetenv("CREDENTIALS_DIRECTORY") }
        func open(_ name: String) async throws(StoreError) -> SecureStore {
            try await SecureStore.open(at: fixture.directory, protectedBy: .systemdCredential(name))
        }
        try Data(repeating: 7, count: 16).write(to: URL(fileURLWithPath: "\(fixture.path)/good"))
        try Data(repeating: 7, count: 15).write(to: URL(fileURLWithPath: "\(fixture.path)/short"))
        // To Swift, the mark is one character with the slash before it.
        try #require(link("\(fixture.path)/good", "\(fixture.path)/\u{301}good") == 0)
        for name in ["missing", "short", "../good", "./\u{301}good", ".", ""] {
            #expect(await #expect(throws: StoreError.self) { try await open(name) }?.code == .keyUnavailable)
        }
        try await open("good").close()
        try await open("good").close()
        unsetenv("CREDENTIALS_DIRECTORY")
        #expect(await #expect(throws: StoreError.self) { try await open("good") }?.code == .keyUnavailable)
    }
}

@Suite struct PassphraseTests {
    /// The minimum that OWASP recommends, as it is recorded in the store.
    @Test func aNewStoreHasTheAdvisedCost() throws {
        let (_, parameters) = try PassphraseProtector(passphrase: "correct horse").makeWrappingKey()
        #expect(Array(parameters[..<4]) == [1, 17, 8, 1])
    }

    /// The parameters are read before they are authenticated: they must not make opening take all memory, or minutes.
    @Test(
        arguments: [
            [20, 32, 1], [20, 8, 3], [17, 32, 5], [9, 8, 1], [21, 1, 1], [10, 33, 1], [10, 8, 17], [17, 0, 1],
        ] as [[UInt8]])
    func aCostThatIsOutOfBoundsIsRefused(_ cost: [UInt8]) {
        let protector = PassphraseProtector(passphrase: "correct horse", cost: .init(exponent: 10))
        let start = ContinuousClock.now
        let error = #expect(throws: StoreError.self) {
            try protector.wrappingKey(parameters: [1] + cost + [UInt8](repeating: 7, count: 32))
        }
        #expect(error?.code == .unsupportedFormat)
        #expect(start.duration(to: .now) < .seconds(10))
    }

    @Test func parametersWithinTheBoundsAreAccepted() throws {
        let (key, parameters) = try PassphraseProtector(passphrase: "horse", cost: .init(exponent: 10))
            .makeWrappingKey()
        let same = try PassphraseProtector(passphrase: "horse").wrappingKey(parameters: parameters)
        #expect(key == same)
    }
}

/// What the documentation of ``KeyProtector`` promises to one of an app's own.
@Suite struct OwnProtectorTests {
    private struct Vault: KeyProtector {
        var kind = "vault"
        var key = SymmetricKey(size: .bits256)
        var parameters: [UInt8] = [1, 2, 3]

        func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) { (key, parameters) }

        func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
            guard parameters == self.parameters else { throw StoreError(.keyUnavailable, "Other parameters.") }
            return key
        }
    }

    @Test(arguments: [SymmetricKeySize.bits128, .bits256, SymmetricKeySize(bitCount: 512)])
    func anyKeyOfEnoughLengthServes(_ size: SymmetricKeySize) async throws {
        let fixture = try StoreFixture()
        let vault = Vault(key: SymmetricKey(size: size))
        try await SecureStore.open(at: fixture.directory, protectedBy: vault).close()
        try await SecureStore.open(at: fixture.directory, protectedBy: vault).close()
        let error = await #expect(throws: StoreError.self) {
            try await SecureStore.open(at: fixture.directory, protectedBy: Vault())
        }
        #expect(error?.code == .wrongKey)
    }

    @Test(arguments: [8, 120, 520])
    func aKeyThatIsTooShortOrTooLongIsRefusedByANewStoreAndByOneThatIsThere(bits: Int) async throws {
        let fixture = try StoreFixture()
        let vault = Vault(key: SymmetricKey(data: [UInt8](repeating: 7, count: bits / 8)))
        let created = await #expect(throws: StoreError.self) {
            try await SecureStore.open(at: fixture.directory, protectedBy: vault)
        }
        #expect(created?.code == .keyUnavailable)
        try await SecureStore.open(at: fixture.directory, protectedBy: Vault()).close()
        let opened = await #expect(throws: StoreError.self) {
            try await SecureStore.open(at: fixture.directory, protectedBy: vault)
        }
        #expect(opened?.code == .keyUnavailable)
    }

    @Test func kindAndParametersHaveLimits() async throws {
        let fixture = try StoreFixture()
        for vault in [
            Vault(kind: ""), Vault(kind: String(repeating: "k", count: 65)),
            Vault(parameters: [UInt8](repeating: 0, count: 4097)),
        ] {
            let error = await #expect(throws: StoreError.self) {
                try await SecureStore.open(at: fixture.directory, protectedBy: vault)
            }
            #expect(error?.code == .tooLarge)
        }
        let longest = Vault(
            kind: String(repeating: "k", count: 64), parameters: [UInt8](repeating: 0, count: 4096))
        try await SecureStore.open(at: fixture.directory, protectedBy: longest).close()
        try await SecureStore.open(at: fixture.directory, protectedBy: longest).close()
    }
}
