/// The jar that a session uses for its cookies.
public enum CookieJarSelection: Sendable, Hashable {
    /// The instance's jar.
    case instance
    /// A named jar in the instance's store, which is created if there is none.
    case named(String)
    /// None: cookies are neither sent nor stored.
    case none
}

/// Which cookies of servers are accepted.
public enum CookieAcceptPolicy: Sendable, Hashable {
    /// All that RFC 6265bis permits.
    case always
    /// None; cookies in the jar are sent.
    case never
    /// Only those of the same site as ``LoadOptions/mainDocument``. A request without one is its own main document.
    case onlyFromMainDocument
}
