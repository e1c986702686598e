import SallyportAuthorization
import SallyportGateway
import SallyportSecureStore

/// A gateway's data given as an app's store, or the other way round.
enum DirectoryMistake {
    /// The failure of a command for apps on a gateway's data.
    static func gateway(at path: String) -> CommandFailure {
        CommandFailure(
            .usage, name: "notAnApp", "\(path) is the data of a gateway, not the store of an app.",
            hint: "'sallyport admin show --data \(path)' shows what it declares; an app has a directory of its own")
    }

    /// The failure of a command for gateways, if it failed because the directory is the store of an app; else `error`.
    static func explained(
        _ error: GatewayError, at path: String, protectedBy protector: any KeyProtector
    ) async -> any Error {
        let codes: [GatewayError.Code] = [.notInitialized, .alreadyInitialized, .inUse]
        guard codes.contains(error.code), let app = await app(at: path, protectedBy: protector) else { return error }
        return CommandFailure(
            .usage, name: "notAGateway", "\(path) is the store of the app \(app), not the data of a gateway.",
            hint: "'sallyport status --store \(path)' shows its state; a gateway has a directory of its own")
    }

    /// The entitlement of the app that is activated in a store; nil if none is, and if the store does not open.
    private static func app(at path: String, protectedBy protector: any KeyProtector) async -> String? {
        guard let store = try? await SecureStore.open(at: path, protectedBy: protector, options: .readOnly) else {
            return nil
        }
        defer { store.close() }
        return try? StoredAuthorization.read(from: store).entitlement
    }
}

extension StoreLocationOptions {
    /// Opens the store of an app.
    ///
    /// - Throws: ``CommandFailure`` if it is the data of a gateway.
    func openApp(_ options: StoreOptions) async throws -> SecureStore {
        try await openApp(options, protectedBy: keyProtector())
    }

    /// As ``openApp(_:)``, for a command that has read the key before.
    func openApp(_ options: StoreOptions, protectedBy protector: any KeyProtector) async throws -> SecureStore {
        let store: SecureStore
        do {
            store = try await SecureStore.open(at: self.store, protectedBy: protector, options: options)
        } catch {
            // Its key is elsewhere, or the running gateway writes it.
            let codes: [StoreError.Code] = [.wrongKey, .keyUnavailable, .inUse]
            guard codes.contains(error.code), GatewayDirectory.hasServed(self.store) else { throw error }
            throw DirectoryMistake.gateway(at: self.store)
        }
        do {
            guard try !GatewayDirectory.isGateway(store) else { throw DirectoryMistake.gateway(at: self.store) }
        } catch {
            store.close()
            throw error
        }
        return store
    }
}
