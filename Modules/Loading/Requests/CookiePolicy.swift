/// The jar that a session takes its cookies from and puts them into.
public enum CookieJarSelection: Sendable, Hashable {
    /// The instance's jar.
    case instance
    /// Another jar in the store of the instance, which is made where there is none of the name.
    case named(String)
    /// None: cookies are neither sent nor kept.
    case none
}

/// Which cookies of servers are kept; Dynamics' `HTTPCookieAcceptPolicy`.
public enum CookieAcceptPolicy: Sendable, Hashable {
    /// All that RFC 6265bis lets a server set.
    case always
    /// None; those that stand in the jar are sent.
    case never
    /// Only those of the site of ``LoadOptions/mainDocument``. A request without one is its own main document.
    case onlyFromMainDocument
}
