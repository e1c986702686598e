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

    /// The user's name in the form that the method needs: `user`, `DOMAIN\user` or `user@REALM`. Basic and Digest allow
    /// no control characters in it, and Basic allows no colon.
    public var user: String
    /// The password, which no description shows. Basic and Digest send or hash it as UTF-8.
    public var password: Redacted<String>
    /// How long the credential is kept once it was accepted.
    public var persistence: Persistence

    /// - Parameters:
    ///   - user: the user's name, as in ``user``.
    ///   - password: wrapped, so that no log prints it.
    ///   - persistence: by default, the credential is kept in memory while the session lasts.
    public init(user: String, password: Redacted<String>, persistence: Persistence = .forSession) {
        self.user = user
        self.password = password
        self.persistence = persistence
    }
}
