internal import SallyportCore

/// The users as which servers know the principals: accepted credentials, credentials that the app set, and the sessions
/// of schemes. A value; ``CredentialStorage`` holds one.
struct CredentialBook {
    /// The greatest number of spaces whose users are known. Servers choose realms, so beyond it the one in which a
    /// credential was accepted least recently is forgotten.
    static let limit = 1024

    private struct Key: Hashable {
        let principal: Principal
        let space: ProtectionSpace
    }

    /// A principal and an origin: the key under which each request is looked up.
    private struct Pair: Hashable {
        let principal: Principal
        let origin: String
    }

    /// A user whom a server accepted.
    private struct Accepted {
        /// Nil if the credential itself is not kept, or was refused later.
        var credential: Credential?
        let user: String
        /// The paths below which the credential may be sent without a challenge.
        var scopes: Set<String> = []
        /// Whether the session of the scheme made the proof, so that the credential is of no use without a session.
        var needsSession = false
        var number: UInt64
    }

    private var defaults: [Key: Credential] = [:]
    private var accepted: [Pair: [ProtectionSpace: Accepted]] = [:]
    /// The sessions of schemes with a separate proof for each request.
    private var sessions: [Key: (session: any AuthenticationSession, number: UInt64)] = [:]
    private var count: UInt64 = 0

    private subscript(space: ProtectionSpace, of principal: Principal) -> Accepted? {
        get { accepted[Pair(principal: principal, origin: space.origin)]?[space] }
        set {
            let pair = Pair(principal: principal, origin: space.origin)
            accepted[pair, default: [:]][space] = newValue
            if accepted[pair]?.isEmpty == true { accepted[pair] = nil }
        }
    }

    // MARK: Lookup

    /// Whether no user is known, and so there is no credential that could be sent without a challenge.
    var knowsNobody: Bool { accepted.isEmpty }

    /// The credential for default handling: the accepted one, else the one that the app set.
    func credential(for space: ProtectionSpace, of principal: Principal) -> Credential? {
        self[space, of: principal]?.credential ?? defaults[Key(principal: principal, space: space)]
    }

    /// Whether the app has set a credential for exactly this space.
    func hasDefault(for space: ProtectionSpace, of principal: Principal) -> Bool {
        defaults[Key(principal: principal, space: space)] != nil
    }

    /// The credential that may be sent without a challenge.
    func known(for url: RequestURL, of principal: Principal) -> CredentialStorage.Known? {
        guard !accepted.isEmpty, let spaces = accepted[Pair(principal: principal, origin: url.origin)] else {
            return nil
        }
        let path = url.target
        let found = spaces.filter { $0.kind == .server && Self.depth($1, path) > 0 && isUsable($1, in: $0, principal) }
        // The deepest match: the path of one realm may lie within the path of another.
        return known(found.max { Self.depth($0.value, path) < Self.depth($1.value, path) }, of: principal)
    }

    /// The credential that a proxy may be sent without a challenge: the last one that it accepted.
    func known(forProxy origin: String, of principal: Principal) -> CredentialStorage.Known? {
        let spaces = accepted[Pair(principal: principal, origin: origin)] ?? [:]
        let found = spaces.filter { $0.kind == .proxy && isUsable($1, in: $0, principal) }
        return known(found.max { $0.value.number < $1.value.number }, of: principal)
    }

    /// Whether the credential can be sent without a challenge. A session that made room for another one has to be begun
    /// again by a challenge.
    private func isUsable(_ accepted: Accepted, in space: ProtectionSpace, _ principal: Principal) -> Bool {
        guard accepted.credential != nil else { return false }
        return !accepted.needsSession || sessions[Key(principal: principal, space: space)] != nil
    }

    private func known(
        _ found: (key: ProtectionSpace, value: Accepted)?, of principal: Principal
    ) -> CredentialStorage.Known? {
        guard let found, let credential = found.value.credential else { return nil }
        let session = sessions[Key(principal: principal, space: found.key)]?.session
        return CredentialStorage.Known(space: found.key, credential: credential, session: session)
    }

    /// The length of the longest accepted path that contains `path`; 0 if none does.
    private static func depth(_ accepted: Accepted, _ path: String) -> Int {
        accepted.scopes.filter { path.hasPrefix($0) }.map(\.utf8.count).max() ?? 0
    }

    /// The user's name for the principal in a space; nil if the server accepted no credential there yet, and at a proxy:
    /// sessions may have accounts of their own there, and no cookie or answer is a proxy's.
    func user(in space: ProtectionSpace, of principal: Principal) -> String? {
        space.kind == .proxy ? nil : self[space, of: principal]?.user
    }

    // MARK: Changes

    mutating func setDefault(_ credential: Credential?, for space: ProtectionSpace, of principal: Principal) {
        defaults[Key(principal: principal, space: space)] = credential
    }

    /// The session of a scheme in a space, created if there is none.
    /// - Returns: the session, and another one that it replaces and that must be ended.
    mutating func session(
        for space: ProtectionSpace, of principal: Principal, orElse make: () -> (any AuthenticationSession)?
    ) -> (session: (any AuthenticationSession)?, dropped: (any AuthenticationSession)?) {
        let key = Key(principal: principal, space: space)
        guard let session = sessions[key]?.session ?? make() else { return (nil, nil) }
        count += 1
        sessions[key] = (session, count)
        return (session, dropOldestSession())
    }

    private mutating func dropOldestSession() -> (any AuthenticationSession)? {
        guard sessions.count > Self.limit, let oldest = sessions.min(by: { $0.value.number < $1.value.number }) else {
            return nil
        }
        return sessions.removeValue(forKey: oldest.key)?.session
    }

    /// Records that the server accepted a credential. If the principal became another user there meanwhile, by a load
    /// that ran beside this one, it stays that user.
    ///
    /// - Parameter needsSession: whether the session of the scheme made the proof. It counts as used now, so that the
    ///   sessions that are used least recently make room for others.
    /// - Returns: whether the space had accepted none of the principal's before.
    mutating func accepted(
        _ credential: Credential, for space: ProtectionSpace, of principal: Principal, scopes: [String],
        needsSession: Bool
    ) -> Bool {
        let user = user(in: space, of: principal) ?? credential.user
        guard user == credential.user else { return false }
        let known = self[space, of: principal].flatMap { $0.user == user ? $0 : nil }
        var accepted = known ?? Accepted(user: user, number: 0)
        count += 1
        accepted.number = count
        sessions[Key(principal: principal, space: space)]?.number = count
        accepted.needsSession = needsSession
        accepted.credential = credential.persistence == .none ? nil : credential
        for scope in scopes where accepted.scopes.count < Self.limit { accepted.scopes.insert(scope) }
        self[space, of: principal] = accepted
        dropOldest()
        return known == nil
    }

    private mutating func dropOldest() {
        guard accepted.values.reduce(0, { $0 + $1.count }) > Self.limit else { return }
        let all = accepted.flatMap { pair, spaces in spaces.map { (pair.principal, $0.key, $0.value.number) } }
        if let oldest = all.min(by: { $0.2 < $1.2 }) { self[oldest.1, of: oldest.0] = nil }
    }

    /// Records that the server refused a credential: it is not sent again without a challenge. The principal stays the
    /// same user, whose cookies and stored answers it still has.
    mutating func refused(_ credential: Credential, for space: ProtectionSpace, of principal: Principal) {
        guard var known = self[space, of: principal], known.credential == credential else { return }
        (known.credential, known.scopes) = (nil, [])
        self[space, of: principal] = known
    }

    // MARK: Removal

    /// - Parameter method: the method to forget; nil for all.
    /// - Returns: the servers that had credentials, and the sessions to be ended.
    mutating func forget(
        _ method: AuthenticationMethod?
    ) -> (cleared: [CredentialPlace], sessions: [any AuthenticationSession]) {
        func isMeant(_ space: ProtectionSpace) -> Bool {
            space.kind == .server && (method == nil || space.method == method)
        }
        let known = accepted.filter { $0.value.keys.contains(where: isMeant) }.keys
            .map { CredentialPlace(principal: $0.principal, origin: $0.origin) }
        let set = defaults.keys.filter { isMeant($0.space) }
            .map { CredentialPlace(principal: $0.principal, origin: $0.space.origin) }
        let ended = sessions.filter { method == nil || $0.key.space.method == method }
        for key in ended.keys { sessions[key] = nil }
        defaults = defaults.filter { method != nil && $0.key.space.method != method }
        accepted = accepted.mapValues { spaces in spaces.filter { method != nil && $0.key.method != method } }
            .filter { !$0.value.isEmpty }
        return (Array(Set(known + set)), ended.values.map(\.session))
    }
}
