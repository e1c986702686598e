import FoundationEssentials
import SallyportAuthorization
import SallyportCore
import SallyportSecureStore

/// An app with a store of its own, and its gateway.
final class Fixture: Sendable {
    let path: String
    let gateway: FakeGateway
    let clock: TestClock

    init(clock: TestClock = TestClock()) throws {
        let parent = FileManager.default.temporaryDirectory
        path = parent.appending(path: "sallyport-authorization-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        gateway = try FakeGateway()
        self.clock = clock
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func store(_ options: StoreOptions = StoreOptions()) async throws -> SecureStore {
        try await SecureStore.open(at: "\(path)/store", protectedBy: .keyFile("\(path)/key"), options: options)
    }

    func authorization(
        on store: SecureStore, application: ApplicationIdentity? = nil
    ) throws -> Authorization {
        try Authorization.open(store: store, application: application, client: gateway, clock: clock)
    }

    /// An activated and authorized app.
    func activated() async throws -> (Authorization, SecureStore) {
        let store = try await store()
        let authorization = try authorization(on: store)
        try await authorization.activate(link: gateway.link())
        return (authorization, store)
    }
}

extension LoadError {
    static var refused: LoadError { LoadError(.cannotConnect, at: .connect, "Nobody listens.") }
}
