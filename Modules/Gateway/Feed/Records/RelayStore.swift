internal import Foundation
internal import SallyportSecureStore
internal import SallyportWire

/// What a relay is in its fleet.
struct RelayMembership: Sendable, Hashable, Codable {
    let id: RelayIdentifier
    let name: String
    let cluster: String
    /// For the feed.
    var client: StoredIdentity
    /// Of its listener.
    var server: StoredIdentity
    /// The authorities that may have issued a gateway's certificate, DER.
    var trust: [[UInt8]]
    /// HOST:PORT of the control gateways.
    var controls: [String]
}

/// The data of a relay on a machine of its own: its certificates and their keys, and nothing of the fleet's.
struct RelayStore: Sendable {
    private let store: SecureStore
    private let memberships: StoreCollection<String, RelayMembership>
    private let pending: StoreCollection<String, RelayPending>
    private let revisions: StoreCollection<String, Int64>

    init(_ store: SecureStore) {
        self.store = store
        memberships = store.reservedCollection("relay.membership", of: RelayMembership.self)
        pending = store.reservedCollection("relay.pending", of: RelayPending.self)
        revisions = store.reservedCollection("relay.revision", of: Int64.self)
    }

    func membership() throws -> RelayMembership? { try store.read { try $0.value(for: "relay", in: memberships) } }

    /// The request that is not answered yet.
    func request() throws -> RelayPending? { try store.read { try $0.value(for: "relay", in: pending) } }

    func keep(_ request: RelayPending) async throws {
        try await store.write { [pending] in try $0.set(request, for: "relay", in: pending) }
    }

    /// Writes what the relay is; a request is answered by it.
    func keep(_ membership: RelayMembership) async throws {
        try await store.write { [memberships, pending] transaction in
            try transaction.set(membership, for: "relay", in: memberships)
            try transaction.remove("relay", from: pending)
        }
    }

    /// Changes what the relay is, and nothing else of it: the feed and a renewal may write at the same time.
    func change(
        isolation: isolated (any Actor)? = #isolation, _ edit: @escaping @Sendable (inout RelayMembership) -> Void
    ) async throws {
        try await store.write { [memberships] transaction in
            guard var membership = try transaction.value(for: "relay", in: memberships) else { return }
            edit(&membership)
            try transaction.set(membership, for: "relay", in: memberships)
        }
    }

    /// The highest revision that was in force.
    func revision() throws -> Int64 { try store.read { try $0.value(for: "relay", in: revisions) } ?? 0 }

    /// Writes what was followed, and nothing else of what the relay is: a renewal may write at the same time.
    func keep(_ followed: FeedKeeper.Content) async throws {
        try await store.write { [memberships, revisions] transaction in
            try transaction.set(followed.revision, for: "relay", in: revisions)
            guard var membership = try transaction.value(for: "relay", in: memberships) else { return }
            guard (membership.trust, membership.controls) != (followed.trust, followed.controls) else { return }
            (membership.trust, membership.controls) = (followed.trust, followed.controls)
            try transaction.set(membership, for: "relay", in: memberships)
        }
    }

    func close() { store.close() }
}
