package import SallyportSecureStore
package import TestSupport

/// A store in a folder of its own, which is removed with this value.
package struct TestStore: Sendable {
    package let store: SecureStore
    private let folder: TemporaryDirectory

    package init() async throws { try await self.init(in: TemporaryDirectory()) }

    /// - Parameter folder: has what a test opened before, or nothing.
    package init(in folder: TemporaryDirectory, options: StoreOptions = StoreOptions()) async throws {
        self.folder = folder
        store = try await SecureStore.open(
            at: folder.file("store"), protectedBy: .keyFile(folder.file("key")), options: options)
    }

    package func close() { store.close() }
}
