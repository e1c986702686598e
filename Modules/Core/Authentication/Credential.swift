public import SallyportBase

/// A user's name and password. Never stored on disk, for any ``persistence``.
public struct Credential: Sendable, Hashable {
    /// How long an accepted credential is kept in memory.
    public enum Persistence: Sendable, Hashable {
        /// For this load only.
        case none
        /// Until it is cleared, it is refused, or the app is locked or wiped.
        case forSession
        /// The same as ``forSession``.
        case permanent
    }

    public var user: String
    public var password: Redacted<String>
    public var persistence: Persistence

    public init(user: String, password: Redacted<String>, persistence: Persistence = .forSession) {
        self.user = user
        self.password = password
        self.persistence = persistence
    }
}
