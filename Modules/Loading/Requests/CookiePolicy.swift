internal import SallyportBase

/// The jar that a session uses for its cookies.
public enum CookieJarSelection: Sendable, Hashable {
    /// The instance's jar.
    case instance
    /// A named jar in the instance's store, which is created if there is none. Names of the same bytes in UTF-8 are one
    /// jar.
    case named(String)
    /// None: cookies are neither sent nor stored.
    case none

    /// Compares names by bytes, as the store does: each of two names that Unicode calls equivalent has stored cookies
    /// of its own.
    public static func == (one: CookieJarSelection, other: CookieJarSelection) -> Bool {
        switch (one, other) {
        case (.instance, .instance), (.none, .none): true
        case (.named(let one), .named(let other)): ByteText(one) == ByteText(other)
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .instance: hasher.combine(0)
        case .none: hasher.combine(1)
        case .named(let name): hasher.combine(ByteText(name))
        }
    }
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
