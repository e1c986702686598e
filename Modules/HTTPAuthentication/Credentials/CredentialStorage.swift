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
        var accepted: [Key: Accepted] = [:]
        var count: UInt64 = 0
    }

    private let state = Lock(State())

    public init() {}

    /// Sets what default handling answers a challenge with; nil takes it back.
    public func setDefault(
        _ credential: Credential?, for space: ProtectionSpace, of principal: Principal = .instance
    ) {
        state.withLock { $0.defaults[Key(principal: principal, space: space)] = credential }
    }

    /// Forgets the credentials of a method, or of all: default ones, accepted ones, and who a principal is.
    ///
    /// What goes on is not ended. Connections are kept apart by principal anyway.
    public func clear(for method: AuthenticationMethod? = nil) {
        state.withLock { state in
            state.defaults = state.defaults.filter { method != nil && $0.key.space.method != method }
            state.accepted = state.accepted.filter { method != nil && $0.key.space.method != method }
        }
    }

    // MARK: For the stage

    /// What default handling uses: what was accepted, else what was set.
    func credential(for space: ProtectionSpace, of principal: Principal) -> Credential? {
        let key = Key(principal: principal, space: space)
        return state.withLock { $0.accepted[key]?.credential ?? $0.defaults[key] }
    }

    /// What may be sent unasked.
    func known(for url: RequestURL, of principal: Principal) -> (space: ProtectionSpace, credential: Credential)? {
        state.withLock { state in
            guard !state.accepted.isEmpty else { return nil }
            let path = url.target
            let found = state.accepted.filter { key, accepted in
                key.principal == principal && key.space.origin == url.origin && accepted.credential != nil
                    && accepted.scopes.contains { path.hasPrefix($0) }
            }
            // The deepest one: a realm may lie within another's path.
            return found.max { Self.depth($0.value, path) < Self.depth($1.value, path) }.flatMap { key, accepted in
                accepted.credential.map { (key.space, $0) }
            }
        }
    }

    private static func depth(_ accepted: Accepted, _ path: String) -> Int {
        accepted.scopes.filter { path.hasPrefix($0) }.map(\.utf8.count).max() ?? 0
    }

    /// - Throws: ``LoadError/Code/otherPrincipal`` where the principal is somebody else in this space.
    func check(_ credential: Credential, for space: ProtectionSpace, of principal: Principal) throws(LoadError) {
        let user = state.withLock { $0.accepted[Key(principal: principal, space: space)]?.user }
        guard user == nil || user == credential.user else {
            throw LoadError(
                .otherPrincipal, at: .request, "The principal is another user in this protection space.")
        }
    }

    /// The server accepted a credential.
    func accepted(
        _ credential: Credential, for space: ProtectionSpace, of principal: Principal, scope: String?
    ) {
        let key = Key(principal: principal, space: space)
        state.withLock { state in
            state.count += 1
            var accepted = state.accepted[key] ?? Accepted(user: credential.user, number: 0)
            accepted.number = state.count
            accepted.credential = credential.persistence == .none ? nil : credential
            if let scope, accepted.scopes.count < Self.limit { accepted.scopes.insert(scope) }
            state.accepted[key] = accepted
            guard state.accepted.count > Self.limit else { return }
            let oldest = state.accepted.min { $0.value.number < $1.value.number }
            if let oldest { state.accepted[oldest.key] = nil }
        }
    }

    /// The server refused a credential: it is not sent again unasked.
    func refused(_ credential: Credential, for space: ProtectionSpace, of principal: Principal) {
        let key = Key(principal: principal, space: space)
        state.withLock { state in
            if state.accepted[key]?.credential == credential { state.accepted[key] = nil }
        }
    }
}
