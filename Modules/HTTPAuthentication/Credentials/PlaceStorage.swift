internal import Crypto
internal import SallyportBase
internal import SallyportCore
internal import SallyportSecureStore

/// The servers that accepted credentials, in the instance's store, under a reserved name: with a keyed hash of the user
/// in each realm, but no name of a user and no password. They are kept until what is stored for them is removed, so
/// that a later process finds it when it clears credentials, and refuses another user before that.
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

    /// A protection space of a server, and a principal in it.
    struct Space: Sendable, Hashable {
        let entry: Entry
        let realm: String?

        init(_ space: ProtectionSpace, of principal: Principal) {
            entry = Entry(space.method, CredentialPlace(principal: principal, origin: space.origin))
            realm = space.realm
        }
    }

    /// The most entries. An app may have any number of principals; what is beyond this is not found after a restart.
    static let limit = 100_000

    private let store: SecureStore
    private let places: StoreCollection<String, [UInt8]>
    private let key: Redacted<[UInt8]>
    private let limit: Int

    init(_ store: SecureStore, limit: Int = PlaceStorage.limit) {
        self.store = store
        self.limit = limit
        places = store.reservedCollection("credentials.places", of: [UInt8].self)
        key = store.secretOrRandom(for: "credentials.users")
    }

    // MARK: Users

    /// What is stored of a user in a space: of no use without the store's key.
    func user(_ name: String, in space: Space) -> PlaceUsers.User {
        let place = [space.entry.key] + (space.realm.map { [$0] } ?? [])
        return PlaceUsers.User(realm: code(of: ["realm"] + place), code: code(of: ["user", name] + place))
    }

    private func code(of parts: [String]) -> [UInt8] {
        // With their lengths, so that no other parts make the same text.
        let text = parts.map { "\($0.utf8.count):\($0)" }.joined()
        let code = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key.reveal()))
        return Array(code.prefix(PlaceUsers.codeLength))
    }

    /// Whether another user than this one is stored. One that cannot be read is not known.
    func hasOther(than user: PlaceUsers.User, at entry: Entry) -> Bool {
        guard let bytes = try? store.read({ try $0.value(for: entry.key, in: places) }) else { return false }
        return PlaceUsers(stored: bytes).hasOther(than: user)
    }

    // MARK: Entries

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

    /// Queues the user of an entry, and does not wait: a load goes on meanwhile.
    ///
    /// - Parameter isCleared: whether the users that are stored there were cleared, so that they do not stay.
    func add(_ user: PlaceUsers.User, at entry: Entry, isCleared: Bool = false) {
        store.submit({ [places, limit] transaction in
            let old = (try? transaction.value(for: entry.key, in: places)).map { PlaceUsers(stored: $0) }
            if old == nil {
                guard try transaction.count(of: places) < limit else { return }
            }
            var new = isCleared ? PlaceUsers() : old ?? PlaceUsers()
            new.note(user)
            guard new != old else { return }
            try transaction.set(new.stored, for: entry.key, in: places)
        })
    }

    /// Removes entries; one with users that are kept stays, with these alone. Durable on return.
    ///
    /// - Returns: false if the store has failed.
    func remove(
        _ entries: Set<Entry>, keeping users: [Entry: PlaceUsers] = [:],
        isolation: isolated (any Actor)? = #isolation
    ) async -> Bool {
        guard !entries.isEmpty else { return true }
        do {
            try await store.write { [places] transaction in
                for entry in entries {
                    if let users = users[entry] {
                        try transaction.set(users.stored, for: entry.key, in: places)
                    } else {
                        try transaction.remove(entry.key, from: places)
                    }
                }
            }
            return true
        } catch {
            return false
        }
    }
}
