internal import Foundation
internal import SallyportCore
package import SallyportSecureStore
internal import SwiftASN1
internal import X509

/// The data directory of a gateway.
package enum GatewayDirectory {
    /// Creates a new gateway in a directory, which is created if it is missing.
    package static func initialize(
        _ path: String, name: String, protectedBy protector: any KeyProtector
    ) async throws {
        let store = try await open(store: path, protectedBy: protector, options: StoreOptions())
        defer { store.close() }
        guard try !isGateway(store) else {
            throw GatewayError(.alreadyInitialized, "There is a gateway in \(path) already.")
        }
        guard try store.statistics().records == 0 else {
            throw GatewayError(
                .alreadyInitialized,
                "The directory \(path) holds the store of something else, such as an app: a gateway takes a directory of "
                    + "its own.")
        }
        try await GatewayData.initialize(store, name: name)
    }

    /// Whether a store is the data of a gateway.
    package static func isGateway(_ store: SecureStore) throws -> Bool {
        try OwnStore(store).isGateway()
    }

    /// Whether a gateway has run on a directory. Needs no key.
    package static func hasServed(_ path: String) -> Bool { AdministrationSocket.hasDirectory(in: path) }

    /// Opens the data of an existing gateway.
    package static func open(_ path: String, protectedBy protector: any KeyProtector) async throws -> GatewayData {
        let store = try await open(store: path, protectedBy: protector, options: .existing)
        do {
            guard try isGateway(store) else {
                throw GatewayError(.notInitialized, "The store at \(path) is not the data of a gateway.")
            }
            return try await GatewayData.open(store) { Date() }
        } catch {
            store.close()
            throw error
        }
    }

    private static func open(
        store path: String, protectedBy protector: any KeyProtector, options: StoreOptions
    ) async throws -> SecureStore {
        do throws(StoreError) {
            return try await SecureStore.open(at: path, protectedBy: protector, options: options)
        } catch {
            throw mapped(error, path)
        }
    }

    private static func mapped(_ error: StoreError, _ path: String) -> any Error {
        switch error.code {
        case .notFound:
            GatewayError(.notInitialized, "There is no gateway at \(path).")
        case .unsafePermissions: GatewayError(.unsafePermissions, error.message, underlying: error)
        case .inUse: GatewayError(.inUse, error.message, underlying: error)
        default: error
        }
    }

    /// Issues a certificate for a foreign relay: PEM texts of the certificate, the key and the authorities.
    package static func certificate(
        _ path: String, host: String, protectedBy protector: any KeyProtector
    ) async throws -> (certificate: String, key: String, authority: String) {
        let data = try await open(path, protectedBy: protector)
        let authorities = await data.authorityDERs
        let identity: StoredIdentity
        do {
            identity = try await data.issued(host: host)
        } catch {
            await data.close()
            throw error
        }
        await data.close()
        return (
            try Certificate(derEncoded: identity.certificate).pem(), identity.key + "\n",
            try authorities.map { try Certificate(derEncoded: $0).pem() }.joined()
        )
    }
}
