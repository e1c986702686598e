internal import Glibc

/// How many descriptors the process may have open.
package enum DescriptorLimit {
    private static var kind: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    /// The soft limit before the first change; nil if the system does not report it.
    private static let initial = current?.rlim_cur

    private static var current: rlimit? {
        var limit = rlimit()
        return unsafe getrlimit(kind, &limit) == 0 ? limit : nil
    }

    /// - Returns: whether it was done.
    private static func set(_ soft: rlim_t, in limit: rlimit) -> Bool {
        var limit = limit
        limit.rlim_cur = soft
        return unsafe setrlimit(kind, &limit) == 0
    }

    /// Raises the soft limit to the hard one: each tunnel takes two descriptors, and the soft limit is often 1,024.
    ///
    /// Returns the limit afterwards; nil if the system does not report it.
    @discardableResult
    package static func raise() -> Int? {
        // The first use of `initial` reads it: before the change.
        guard initial != nil, let limit = current else { return nil }
        let isRaised = set(limit.rlim_max, in: limit)
        return Int(clamping: isRaised ? limit.rlim_max : limit.rlim_cur)
    }

    /// Calls `body`, which starts a program, with the soft limit that this process was started with. A program inherits
    /// the limit, and may not bear a high one: select(2) knows 1,024 descriptors, and some programs close each possible
    /// one as they start.
    ///
    /// Descriptors beyond the limit stay open; other threads get no further ones while `body` runs.
    package static func withInitial<Result>(_ body: () -> Result) -> Result {
        guard let initial, let limit = current, limit.rlim_cur != initial, set(initial, in: limit) else {
            return body()
        }
        defer { _ = set(limit.rlim_cur, in: limit) }
        return body()
    }
}
