internal import SallyportBase
public import SallyportCore

/// The credentials of one app instance: those that servers accepted, and those that the app set for later. In memory
/// only.
///
/// A principal has one user in a protection space: a second one is refused with `otherPrincipal` until the first is
/// cleared.
public final class CredentialStorage: Sendable {
    /// Servers choose realms: the least lately accepted is forgotten beyond so many.
    static let limit = 1024

    private struct Key: Hashable {
        let principal: Principal
        let space: ProtectionSpace
    }

    /// Who speaks to whom: what each request is looked up by.
    private struct Pair: Hashable {
        let principal: Principal
        let origin: String
    }

    /// What a server accepted.
    private struct Accepted {
        /// Nil where it is not kept.
        var credential: Credential?
        let user: String
        /// The paths below which it may be sent unasked.
        var scopes: Set<String> = []
        var number: UInt64
    }

    private struct State {
        var defaults: [Key: Credential] = [:]
        var accepted: [Pair: [ProtectionSpace: Accepted]] = [:]
        /// Of schemes whose proofs are one for each request.
        var sessions: [Key: (session: any AuthenticationSession, number: UInt64)] = [:]
        var count: UInt64 = 0

        subscript(space: ProtectionSpace, of principal: Principal) -> Accepted? {
            get { accepted[Pair(principal: principal, origin: space.origin)]?[space] }
            set {
                let pair = Pair(principal: principal, origin: space.origin)
                accepted[pair, default: [:]][space] = newValue
                if accepted[pair]?.isEmpty == true { accepted[pair] = nil }
            }
        }

        mutating func dropOldest(beyond limit: Int) {
            guard accepted.values.reduce(0, { $0 + $1.count }) > limit else { return }
            let all = accepted.flatMap { pair, spaces in spaces.map { (pair.principal, $0.key, $0.value.number) } }
            if let oldest = all.min(by: { $0.2 < $1.2 }) { self[oldest.1, of: oldest.0] = nil }
        }

        mutating func dropOldestSession(beyond limit: Int) -> (any AuthenticationSession)? {
            guard sessions.count > limit,
                let oldest = sessions.min(by: { $0.value.number < $1.value.number })
            else { return nil }
            return sessions.removeValue(forKey: oldest.key)?.session
        }
    }

    private let state = Lock(State())
    private let observers = Lock<[@Sendable ([Cleared]) -> Void]>([])
    private let clearings = Lock<[@Sendable (AuthenticationMethod?) -> Void]>([])

    public init() {}

    /// Where a principal's credentials were cleared.
    package struct Cleared: Sendable, Hashable {
        package let principal: Principal
        /// Scheme, host and port.
        package let origin: String
    }

    /// Calls `observer` after each ``clear(for:)`` that cleared something: what else a principal has there goes too.
    package func whenCleared(_ observer: @escaping @Sendable ([Cleared]) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    /// Calls `observer` with the method of each ``clear(for:)``, whatever there was of it: what a scheme has of its own goes.
    package func whenClearing(_ observer: @escaping @Sendable (AuthenticationMethod?) -> Void) {
        clearings.withLock { $0.append(observer) }
    }

    /// Sets what default handling answers a challenge with; nil takes it back.
    public func setDefault(
        _ credential: Credential?, for space: ProtectionSpace, of principal: Principal = .instance
    ) {
        state.withLock { $0.defaults[Key(principal: principal, space: space)] = credential }
    }

    /// Forgets the credentials of a method, or of all: default ones, accepted ones, and who a principal is. The cookies
    /// that the instance would send there in the principal's name go too.
    ///
    /// What goes on is not ended. Connections that a server knows the user of (NTLM) are closed; others are kept apart by
    /// principal anyway.
    public func clear(for method: AuthenticationMethod? = nil) {
        let cleared = forget(method)
        for clearing in clearings.withLock({ $0 }) { clearing(method) }
        guard !cleared.isEmpty else { return }
        for observer in observers.withLock({ $0 }) { observer(cleared) }
    }

    /// Forgets credentials alone; gives where servers had them.
    @discardableResult
    package func forget(_ method: AuthenticationMethod? = nil) -> [Cleared] {
        let (cleared, sessions) = forgetState(method)
        for session in sessions { session.end() }
        return cleared
    }

    private func forgetState(_ method: AuthenticationMethod?) -> ([Cleared], [any AuthenticationSession]) {
        state.withLock { state in
            func isMeant(_ space: ProtectionSpace) -> Bool {
                space.kind == .server && (method == nil || space.method == method)
            }
            let known = state.accepted.filter { $0.value.keys.contains(where: isMeant) }.keys
                .map { Cleared(principal: $0.principal, origin: $0.origin) }
            let set = state.defaults.keys.filter { isMeant($0.space) }
                .map { Cleared(principal: $0.principal, origin: $0.space.origin) }
            let sessions = state.sessions.filter { method == nil || $0.key.space.method == method }
            for key in sessions.keys { state.sessions[key] = nil }
            state.defaults = state.defaults.filter { method != nil && $0.key.space.method != method }
            state.accepted = state.accepted.mapValues { spaces in
                spaces.filter { method != nil && $0.key.method != method }
            }.filter { !$0.value.isEmpty }
            return (Array(Set(known + set)), sessions.values.map(\.session))
        }
    }

    // MARK: For the stage

    /// What default handling uses: what was accepted, else what was set.
    func credential(for space: ProtectionSpace, of principal: Principal) -> Credential? {
        state.withLock {
            $0[space, of: principal]?.credential ?? $0.defaults[Key(principal: principal, space: space)]
        }
    }

    /// Whether the app has set a credential for exactly this space.
    func hasDefault(for space: ProtectionSpace, of principal: Principal) -> Bool {
        state.withLock { $0.defaults[Key(principal: principal, space: space)] != nil }
    }

    /// Whether there is nothing that could be sent unasked, to anybody.
    var knowsNobody: Bool { state.withLock { $0.accepted.isEmpty } }

    /// What may be sent unasked.
    func known(for url: RequestURL, of principal: Principal) -> (space: ProtectionSpace, credential: Credential)? {
        state.withLock { state in
            guard !state.accepted.isEmpty,
                let spaces = state.accepted[Pair(principal: principal, origin: url.origin)]
            else { return nil }
            let path = url.target
            let found = spaces.filter {
                $0.kind == .server && $1.credential != nil && Self.depth($1, path) > 0
            }
            // The deepest one: a realm may lie within another's path.
            return found.max { Self.depth($0.value, path) < Self.depth($1.value, path) }.flatMap { space, accepted in
                accepted.credential.map { (space, $0) }
            }
        }
    }

    /// What a proxy may be told unasked: what it accepted last.
    func known(forProxy origin: String, of principal: Principal) -> (space: ProtectionSpace, credential: Credential)? {
        state.withLock { state in
            let spaces = state.accepted[Pair(principal: principal, origin: origin)] ?? [:]
            let found = spaces.filter { $0.kind == .proxy && $1.credential != nil }
            return found.max { $0.value.number < $1.value.number }.flatMap { space, accepted in
                accepted.credential.map { (space, $0) }
            }
        }
    }

    /// The length of the longest path that leads to `path`; 0 where none does.
    private static func depth(_ accepted: Accepted, _ path: String) -> Int {
        accepted.scopes.filter { path.hasPrefix($0) }.map(\.utf8.count).max() ?? 0
    }

    /// - Throws: ``LoadError/Code/otherPrincipal`` where the principal is somebody else in this space.
    func check(_ credential: Credential, for space: ProtectionSpace, of principal: Principal) throws(LoadError) {
        let user = state.withLock { $0[space, of: principal]?.user }
        guard user == nil || user == credential.user else {
            throw LoadError(
                .otherPrincipal, at: .request, "The principal is another user in this protection space.")
        }
    }

    /// What is known of a space by a scheme that has sessions.
    func session(for space: ProtectionSpace, of principal: Principal) -> (any AuthenticationSession)? {
        state.withLock { $0.sessions[Key(principal: principal, space: space)]?.session }
    }

    /// The same, made where there is none.
    func session(
        for space: ProtectionSpace, of principal: Principal, orElse make: () -> (any AuthenticationSession)?
    ) -> (any AuthenticationSession)? {
        let (session, dropped) = state.withLock {
            state -> ((any AuthenticationSession)?, (any AuthenticationSession)?) in
            let key = Key(principal: principal, space: space)
            guard let session = state.sessions[key]?.session ?? make() else { return (nil, nil) }
            state.count += 1
            state.sessions[key] = (session, state.count)
            return (session, state.dropOldestSession(beyond: Self.limit))
        }
        dropped?.end()
        return session
    }

    /// The server accepted a credential.
    func accepted(
        _ credential: Credential, for space: ProtectionSpace, of principal: Principal, scopes: [String]
    ) {
        state.withLock { state in
            state.count += 1
            var accepted = state[space, of: principal] ?? Accepted(user: credential.user, number: 0)
            accepted.number = state.count
            accepted.credential = credential.persistence == .none ? nil : credential
            for scope in scopes where accepted.scopes.count < Self.limit { accepted.scopes.insert(scope) }
            state[space, of: principal] = accepted
            state.dropOldest(beyond: Self.limit)
        }
    }

    /// The server refused a credential: it is not sent again unasked.
    func refused(_ credential: Credential, for space: ProtectionSpace, of principal: Principal) {
        state.withLock { state in
            if state[space, of: principal]?.credential == credential { state[space, of: principal] = nil }
        }
    }
}
