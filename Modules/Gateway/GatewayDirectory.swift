internal import Crypto
internal import Foundation
package import SallyportBase
internal import SallyportCore
internal import SallyportLoading
package import SallyportSecureStore
internal import SwiftASN1
internal import X509

/// The data directory of a gateway.
package enum GatewayDirectory {
    /// Creates a new gateway in a directory, which is created if it is missing. If that fails once the directory holds a
    /// store, for want of the database, say, a directory that was created for it is removed.
    ///
    /// - Parameters:
    ///   - url: of the empty database of a new fleet; nil for a gateway that stands alone.
    ///   - owner: the same database's, as the role that makes the tables and owns them; nil if that is the gateway's own.
    ///   - databases: opens it.
    /// - Returns: the fleet's recovery key, to be shown once; nil for a gateway that stands alone.
    @discardableResult
    package static func initialize(
        _ path: String, name: String, protectedBy protector: any KeyProtector, database url: String? = nil,
        asOwner owner: String? = nil, through databases: DatabaseOpener? = nil
    ) async throws -> Redacted<String>? {
        try GatewayData.check(name: name)
        let isNew = !FileManager.default.fileExists(atPath: path)
        let store = try await openEmpty(path, protectedBy: protector)
        defer { store.close() }
        let membership = url.map { FleetMembership(url: $0, key: FleetKey.generate()) }
        do {
            try await GatewayData.initialize(store, name: name, in: membership, asOwner: owner, through: databases)
        } catch {
            // While the store is open, no other process has a gateway there.
            if isNew { try? FileManager.default.removeItem(atPath: path) }
            throw error
        }
        return membership?.recoveryKey
    }

    /// Makes the request by which a new gateway in this directory is invited into a fleet; the same one each time.
    package static func joinRequest(_ path: String, protectedBy protector: any KeyProtector) async throws -> String {
        let store = try await open(store: path, protectedBy: protector, options: StoreOptions())
        defer { store.close() }
        let own = OwnStore(store)
        if let key = try own.joiningKey() {
            return JoinRequest(of: try P256.KeyAgreement.PrivateKey(x963Representation: key)).text
        }
        try checkEmpty(store, at: path)
        let key = P256.KeyAgreement.PrivateKey()
        try await own.keep(joiningKey: Array(key.x963Representation))
        return JoinRequest(of: key).text
    }

    /// Makes the gateway for which a request was made before, by the invitation that answers it.
    package static func join(
        _ path: String, name: String, invitation: String, protectedBy protector: any KeyProtector,
        through databases: DatabaseOpener?
    ) async throws {
        let store = try await open(store: path, protectedBy: protector, options: .existing)
        defer { store.close() }
        guard let bytes = try OwnStore(store).joiningKey() else {
            throw GatewayError(
                .invalid,
                "No request to join a fleet was made in \(path): `gateway join` without an invitation makes one.")
        }
        let membership = try Invitation.open(
            invitation, with: P256.KeyAgreement.PrivateKey(x963Representation: bytes))
        try await GatewayData.join(membership, store, name: name, through: databases)
    }

    static func openEmpty(_ path: String, protectedBy protector: any KeyProtector) async throws -> SecureStore {
        let store = try await open(store: path, protectedBy: protector, options: StoreOptions())
        do { try checkEmpty(store, at: path) } catch {
            store.close()
            throw error
        }
        return store
    }

    private static func checkEmpty(_ store: SecureStore, at path: String) throws {
        guard try !isGateway(store) else {
            throw GatewayError(.alreadyInitialized, "There is a gateway in \(path) already.")
        }
        guard try store.statistics().records == 0 else {
            throw GatewayError(
                .alreadyInitialized,
                "The directory \(path) holds the store of something else, such as an app: a gateway takes a directory of "
                    + "its own.")
        }
    }

    /// Whether a store is the data of a gateway.
    package static func isGateway(_ store: SecureStore) throws -> Bool {
        try OwnStore(store).isGateway()
    }

    /// - Throws: `invalid` if a request to join a fleet was made here that no invitation has answered yet.
    private static func checkIsNotPending(_ store: SecureStore, at path: String) throws {
        let relay = try RelayStore(store).request()
        guard try relay != nil || OwnStore(store).joiningKey() != nil else { return }
        throw GatewayError(
            .invalid,
            "The \(relay == nil ? "gateway" : "relay") at \(path) has not joined its fleet yet: `gateway join INVITATION` "
                + "completes it, with the invitation that answers its request.")
    }

    /// Opens the data of a relay.
    static func openRelay(_ path: String, protectedBy protector: any KeyProtector) async throws -> RelayStore {
        let store: SecureStore
        do { store = try await open(store: path, protectedBy: protector, options: .existing) } catch let error
            as GatewayError where error.code == .notInitialized
        {
            throw GatewayError(.invalid, "There is no relay at \(path): `gateway join --role relay` begins one.")
        }
        let relay = RelayStore(store)
        do {
            guard try relay.membership() != nil else {
                try checkIsNotPending(store, at: path)
                throw GatewayError(
                    .invalid,
                    "The store at \(path) is not the data of a relay: `gateway join --role relay` begins one.")
            }
        } catch {
            store.close()
            throw error
        }
        return relay
    }

    /// Makes the request by which a new relay in this directory is enrolled; the same one each time.
    package static func relayRequest(
        _ path: String, name: String, cluster: String, protectedBy protector: any KeyProtector
    ) async throws -> String {
        guard case .name(let host)? = try? Host(name) else {
            throw GatewayError(
                .invalid, "A relay's name is the host name by which apps reach it, which '\(name)' is not.")
        }
        guard Route.isClusterName(cluster) else {
            throw GatewayError(.invalid, "A cluster's name has 1 to 64 letters, digits, hyphens, underscores and dots.")
        }
        let store = try await open(store: path, protectedBy: protector, options: StoreOptions())
        defer { store.close() }
        let relay = RelayStore(store)
        if let pending = try relay.request(), pending.name == host, pending.cluster == cluster {
            return try RelayRequest(pending).text
        }
        if try relay.request() == nil { try checkEmpty(store, at: path) }
        let pending = RelayPending(name: host, cluster: cluster)
        try await relay.keep(pending)
        return try RelayRequest(pending).text
    }

    /// Makes the relay for which a request was made before, by the invitation that answers it.
    ///
    /// - Returns: the relay's name.
    package static func joinAsRelay(
        _ path: String, invitation text: String, protectedBy protector: any KeyProtector
    ) async throws -> String {
        let store = try await open(store: path, protectedBy: protector, options: .existing)
        defer { store.close() }
        let relay = RelayStore(store)
        guard let pending = try relay.request() else {
            throw GatewayError(
                .invalid, "No request of a relay was made in \(path): `gateway join --role relay` makes one.")
        }
        let invitation = try RelayInvitation(text)
        let (client, server) = try pending.keys.identities(invitation.certificates)
        try await relay.keep(
            RelayMembership(
                id: invitation.id, name: pending.name, cluster: pending.cluster, client: client, server: server,
                trust: invitation.certificates.trust.map { Array($0) }, controls: invitation.controls))
        return pending.name
    }

    /// Whether a text is an invitation for a relay.
    package static func isRelayInvitation(_ text: String) -> Bool { text.hasPrefix(RelayInvitation.prefix) }

    /// Whether a gateway has run on a directory. Needs no key.
    package static func hasServed(_ path: String) -> Bool { AdministrationSocket.hasDirectory(in: path) }

    /// Opens the data of an existing gateway.
    ///
    /// - Parameter databases: opens the database of its fleet, if it takes part in one.
    package static func open(
        _ path: String, protectedBy protector: any KeyProtector, through databases: DatabaseOpener? = nil
    ) async throws -> GatewayData {
        let store = try await open(store: path, protectedBy: protector, options: .existing)
        do {
            guard try isGateway(store) else {
                guard try RelayStore(store).membership() == nil else {
                    throw GatewayError(
                        .invalid,
                        "The store at \(path) is a relay's: it runs with `--role relay`, and is administered at its "
                            + "control gateways.")
                }
                try checkIsNotPending(store, at: path)
                throw GatewayError(.notInitialized, "The store at \(path) is not the data of a gateway.")
            }
            return try await GatewayData.open(store, through: databases) { Date() }
        } catch {
            store.close()
            throw error
        }
    }

    static func open(
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
        _ path: String, host: String, protectedBy protector: any KeyProtector, through databases: DatabaseOpener? = nil
    ) async throws -> (certificate: String, key: String, authority: String) {
        let data = try await open(path, protectedBy: protector, through: databases)
        let authorities = await data.authorityDERs
        let identity: StoredIdentity
        do {
            identity = try await data.issued(host: host, by: .processUser())
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
