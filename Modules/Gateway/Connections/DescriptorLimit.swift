internal import Foundation
internal import Glibc

/// How many descriptors the process may have open.
enum DescriptorLimit {
    /// Raises the soft limit to the hard one: a tunnel takes two descriptors, and the soft limit is often 1,024.
    ///
    /// Returns the limit afterwards; nil if the system does not report it.
    @discardableResult
    static func raise() -> Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        return Int(clamping: isRaised ? limit.rlim_cur : before)
    }

    /// The number of descriptors that this process has open.
    static var used: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 64 }
}
