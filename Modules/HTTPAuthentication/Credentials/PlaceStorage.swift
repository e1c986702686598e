internal import SallyportCore
internal import SallyportSecureStore

/// The servers that accepted credentials, in the instance's store, under a reserved name: without users and passwords.
/// They are kept until what is stored for them is removed, so that clearing finds it in a later process too.
///
/// A write is queued in the store before it is awaited, so that calls from one actor keep their order.
struct PlaceStorage: Sendable {
    /// A server that accepted a credential of a method.
    struct Entry: Sendable, Hashable {
        let method: AuthenticationMethod
        let place: CredentialPlace

        init(_ method: AuthenticationMethod, _ place: CredentialPlace) {
            (self.method, self.place) = (method, place)
        }

        /// The principal's name may contain anything, so it comes last.
        fileprivate var key: String { "\(method.name)\n\(place.origin)\n\(place.principal.name)" }

        fileprivate init?(key: String) {
            let parts = key.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3 else { return nil }
            method = AuthenticationMethod(parts[0])
            place = CredentialPlace(principal: Principal(parts[2]), origin: parts[1])
        }
    }

    /// The most entries. An app may have any number of principals; what is beyond this is not found after a restart.
    static let limit = 100_000

    private let store: SecureStore
    private let places: StoreCollection<String, [UInt8]>
    private let limit: Int

    init(_ store: SecureStore, limit: Int = PlaceStorage.limit) {
        self.store = store
        self.limit = limit
        places = store.reservedCollection("credentials.places", of: [UInt8].self)
    }

    /// All readable entries.
    func all() -> Set<Entry> {
        var found: Set<Entry> = []
        try? store.read { transaction in
            try transaction.forEachSound(in: places) { key, _ in
                if let entry = Entry(key: key) { found.insert(entry) }
            } damaged: {
            }
        }
        return found
    }

    /// Queues the entry, and does not wait: a load goes on meanwhile.
    func add(_ entry: Entry) {
        store.submit({ [places, limit] transaction in
            guard try transaction.count(of: places) < limit else { return }
            try transaction.set([], for: entry.key, in: places)
        })
    }

    /// Durable on return, unless the store fails.
    func remove(
        _ entries: Set<Entry>, isolation: isolated (any Actor)? = #isolation
    ) async {
        try? await store.write { [places] transaction in
            for entry in entries { try transaction.remove(entry.key, from: places) }
        }
    }
}
