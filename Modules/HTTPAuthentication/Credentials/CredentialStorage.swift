public import SallyportCore
public import SallyportSecureStore
internal import Synchronization

/// The credentials of one app instance: those that servers accepted, and those that the app set in advance. They are
/// kept in memory only. The store has the servers that accepted some, so that ``clear(for:)`` finds them after a
/// restart, and a keyed hash of each user.
///
/// A principal has one user in a protection space: a second one is refused with `otherPrincipal` until the first is
/// cleared. With a store, this holds over locks and restarts, since the first one's cookies and answers last as long.
public actor CredentialStorage: InstancePart {
    /// A credential that may be sent without a challenge.
    struct Known: Sendable {
        let space: ProtectionSpace
        let credential: Credential
        /// Nil for a scheme without sessions.
        let session: (any AuthenticationSession)?

        /// Whether a request with this credential of its own may carry it; one without may.
        func isOf(_ own: Credential?) -> Bool { own.map { $0.user == credential.user } ?? true }
    }

    private var book = CredentialBook()
    /// Read by each load, so that a load without credentials does not wait for the actor.
    private nonisolated let isEmpty = Atomic(true)
    /// How often credentials were removed: what a load found before a removal must not come back after it.
    private nonisolated let removals = Atomic<UInt64>(0)
    private let followers: [any CredentialFollower]
    private let places: PlaceStorage?
    /// The users that this process has stored.
    private var stored: [PlaceStorage.Space: PlaceUsers.User] = [:]
    /// The places whose users were cleared, but which the store still has, because it or a follower has failed.
    private var cleared: Set<PlaceStorage.Entry> = []

    /// - Parameters:
    ///   - store: keeps at which servers which principals had credentials accepted, with hashes in place of users and
    ///     without passwords; nil if the followers store nothing either.
    ///   - followers: called by each ``clear(for:)``, one after the other, so that the principal's other data for those
    ///     servers is removed too: `Kerberos` with its tickets, jars, the cache.
    public init(in store: SecureStore? = nil, followedBy followers: [any CredentialFollower] = []) {
        places = store.map { PlaceStorage($0) }
        self.followers = followers
    }

    /// Sets the credential with which default handling answers a challenge; nil removes it.
    public func setDefault(
        _ credential: Credential?, for space: ProtectionSpace, of principal: Principal = .instance
    ) {
        book.setDefault(credential, for: space, of: principal)
    }

    /// Removes the credentials of a method, or of all: default and accepted ones, and the users of the principals. Also
    /// removes the cookies that the instance would send to those servers for the principal, and their responses from
    /// the cache, also those of an earlier process. When the call returns, all this is done in memory and in the store.
    /// While the app may not use its store, stored cookies stay in it, and are removed when they are read again. After
    /// a restart the next call removes them, and what the store failed to remove; until then their user is known again.
    ///
    /// Running loads are not ended. A credential that a server accepts in one of them is not kept, but its user is, since
    /// its cookies and answer may be: clear again once they have ended. Connections on which a server
    /// knows the user (NTLM) are closed; all others are separate for each principal anyway.
    public func clear(for method: AuthenticationMethod? = nil) async {
        await clear(for: method) { _ in true }
    }

    /// Like ``clear(for:)``, for a caller that has some followers remove their data in another way.
    ///
    /// - Parameter isTold: whether a follower is called.
    package func clear(
        for method: AuthenticationMethod?, telling isTold: @Sendable (any CredentialFollower) -> Bool
    ) async {
        let kept = takeStored(method)
        let known = await forget(method)
        let all = Array(Set(known).union(kept.map(\.place)))
        // The stored places are removed last, so that the next clearing makes good one that ended half-way. Those that
        // were stored anew meanwhile stay.
        var isDone = await tell(followers.filter(isTold), method, all)
        if isDone { isDone = await places?.remove(kept, keeping: storedUsers) ?? true }
        if isDone { cleared.subtract(kept) } else { cleared.formUnion(kept) }
    }

    /// Each follower is told, even if an earlier one fails.
    ///
    /// - Returns: whether all of them have removed their data.
    private func tell(
        _ followers: [any CredentialFollower], _ method: AuthenticationMethod?, _ cleared: [CredentialPlace]
    ) async -> Bool {
        var isDone = true
        for follower in followers {
            do {
                try await follower.credentialsCleared(for: method, at: cleared)
            } catch {
                isDone = false
            }
        }
        return isDone
    }

    /// The stored places of a method, or of all: those of an earlier process, and those that are on their way.
    private func takeStored(_ method: AuthenticationMethod?) -> Set<PlaceStorage.Entry> {
        guard let places else { return [] }
        let kept = places.all().union(stored.keys.map(\.entry)).filter { method == nil || $0.method == method }
        stored = stored.filter { !kept.contains($0.key.entry) }
        return kept
    }

    /// The users that this process has stored, by place.
    private var storedUsers: [PlaceStorage.Entry: PlaceUsers] {
        stored.reduce(into: [:]) { $0[$1.key.entry, default: PlaceUsers()].note($1.value) }
    }

    /// Stores which user the principal is in a space, in place of one whom a load from before a clearing has left.
    private func store(_ user: String, in space: ProtectionSpace, of principal: Principal) {
        guard let places, space.kind == .server else { return }
        let place = PlaceStorage.Space(space, of: principal)
        let user = places.user(user, in: place)
        guard stored[place] != user else { return }
        // What is forgotten here is read from the store.
        if stored.count >= CredentialBook.limit { stored = [:] }
        stored[place] = user
        places.add(user, at: place.entry, isCleared: cleared.remove(place.entry) != nil)
    }

    /// Whether the principal is another user in a space by what is stored. What cannot be read is not known.
    private func isStored(asOtherThan user: String, in space: ProtectionSpace, of principal: Principal) -> Bool {
        guard let places, space.kind == .server else { return false }
        let place = PlaceStorage.Space(space, of: principal)
        let user = places.user(user, in: place)
        // Memory comes first: it may not be written yet.
        if let known = stored[place] { return known != user }
        return !cleared.contains(place.entry) && places.hasOther(than: user, at: place.entry)
    }

    /// Removes all credentials. Unless the store is destroyed, the principals stay the same users, whose stored cookies
    /// and answers they have.
    public func withdrawn(_ change: AccessChange) async {
        if change.destroysData { (stored, cleared) = ([:], []) }
        await forget()
    }

    /// Removes all credentials.
    public func shutdown() async { await forget() }

    /// Removes only the credentials; returns the servers that had them.
    @discardableResult
    func forget(_ method: AuthenticationMethod? = nil) async -> [CredentialPlace] {
        removals.wrappingAdd(1, ordering: .acquiringAndReleasing)
        let (cleared, sessions) = book.forget(method)
        publish()
        for session in sessions { await session.end() }
        return cleared
    }

    private func publish() { isEmpty.store(book.knowsNobody, ordering: .releasing) }

    // MARK: For the stage

    /// Whether there is no credential that could be sent without a challenge.
    nonisolated var knowsNobody: Bool { isEmpty.load(ordering: .acquiring) }

    /// Read by a load before it looks up any credential; see ``accepted(_:for:of:scopes:since:)``.
    nonisolated var generation: UInt64 { removals.load(ordering: .acquiring) }

    /// See ``CredentialBook/credential(for:of:)``.
    func credential(for space: ProtectionSpace, of principal: Principal) -> Credential? {
        book.credential(for: space, of: principal)
    }

    /// See ``CredentialBook/hasDefault(for:of:)``.
    func hasDefault(for space: ProtectionSpace, of principal: Principal) -> Bool {
        book.hasDefault(for: space, of: principal)
    }

    /// See ``CredentialBook/known(for:of:)``.
    func known(for url: RequestURL, of principal: Principal) -> Known? { book.known(for: url, of: principal) }

    /// See ``CredentialBook/known(forProxy:of:)``.
    func known(forProxy origin: String, of principal: Principal) -> Known? {
        book.known(forProxy: origin, of: principal)
    }

    /// - Throws: ``LoadError/Code/otherPrincipal`` if the principal is another user in this space.
    func check(_ credential: Credential, for space: ProtectionSpace, of principal: Principal) throws(LoadError) {
        guard admits(credential, for: space, of: principal) else {
            throw LoadError(.otherPrincipal, at: .request, "The principal is another user in this protection space.")
        }
    }

    /// Whether the principal may be the credential's user in this space, because it is not another one there.
    func admits(_ credential: Credential, for space: ProtectionSpace, of principal: Principal) -> Bool {
        let user = book.user(in: space, of: principal)
        guard user == nil || user == credential.user else { return false }
        // The book knows nothing from before the start or a lock, and not everything since.
        return user != nil || !isStored(asOtherThan: credential.user, in: space, of: principal)
    }

    /// The session of a scheme in a space, created if there is none.
    func session(
        for space: ProtectionSpace, of principal: Principal, orElse make: @Sendable () -> (any AuthenticationSession)?
    ) async -> (any AuthenticationSession)? {
        let (session, dropped) = book.session(for: space, of: principal, orElse: make)
        await dropped?.end()
        return session
    }

    /// The server accepted a credential.
    ///
    /// - Parameters:
    ///   - needsSession: whether the session of the scheme made the proof.
    ///   - start: the ``generation`` in which the load began; if credentials were removed since then, the credential is
    ///     not kept. The server and the user are noted all the same: the load's cookies and answer are kept, and the
    ///     next clearing removes them.
    func accepted(
        _ credential: Credential, for space: ProtectionSpace, of principal: Principal, scopes: [String],
        needsSession: Bool = false, since start: UInt64
    ) {
        guard start == generation else { return storeLate(credential.user, in: space, of: principal) }
        // Loads with a proof come here each time, and pay for the list of places at the first only.
        if book.accepted(credential, for: space, of: principal, scopes: scopes, needsSession: needsSession) {
            store(credential.user, in: space, of: principal)
        }
        publish()
    }

    /// The user of a load that began before a clearing, unless the principal is another one since.
    private func storeLate(_ user: String, in space: ProtectionSpace, of principal: Principal) {
        guard book.user(in: space, of: principal) == nil, !isStored(asOtherThan: user, in: space, of: principal) else {
            return
        }
        store(user, in: space, of: principal)
    }

    /// The server refused a credential: it is not sent again without a challenge.
    func refused(_ credential: Credential, for space: ProtectionSpace, of principal: Principal) {
        book.refused(credential, for: space, of: principal)
        publish()
    }
}

/// Hides its content from dumps: it contains passwords, and reflection reads an actor's state without its isolation.
extension CredentialStorage: CustomReflectable {
    public nonisolated var customMirror: Mirror { Mirror(self, children: []) }
}
