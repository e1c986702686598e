import SallyportAuthorization
import SallyportCore
import SallyportSecureStore
import TestSupport

/// An app with a store of its own, and its gateway.
final class Fixture: Sendable {
    private let folder: TemporaryDirectory
    var path: String { folder.path }
    let gateway: FakeGateway
    let clock: TestClock

    init(clock: TestClock = TestClock()) throws {
        folder = try TemporaryDirectory()
        gateway = try FakeGateway()
        self.clock = clock
    }

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
