internal import Glibc

/// How many descriptors the process may have open.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard one: each tunnel takes two descriptors, and the soft limit is often 1,024.
    ///
    /// Returns the limit afterwards; nil if the system does not report it.
    @discardableResult
    package static func raise() -> Int? {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(kind, &limit) == 0 else { return nil }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        let isRaised = unsafe setrlimit(kind, &limit) == 0
        return Int(clamping: isRaised ? limit.rlim_cur : before)
    }
}
