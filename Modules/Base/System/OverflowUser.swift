internal import Glibc

/// The number that the kernel reports for every user whom the user namespace of this process does not map
/// (user_namespaces(7)). It may be anyone's, so it names no user.
package enum OverflowUser {
    private static let whole = "0 0 4294967295"

    /// Nil if the process's namespace maps all users.
    package static func number() -> UInt32? {
        let map = hasNamespaces ? content("/proc/self/uid_map") : whole
        return number(inKernel: content("/proc/sys/kernel/overflowuid"), map: map)
    }

    /// Whether this kernel has user namespaces at all.
    private static var hasNamespaces: Bool {
        unsafe access("/proc/self/ns", F_OK) != 0 || access("/proc/self/ns/user", F_OK) == 0
    }

    /// - Parameters:
    ///   - text: the content of `/proc/sys/kernel/overflowuid`; nil if it cannot be read: the kernel's default counts.
    ///   - map: the content of `/proc/self/uid_map`; nil if it cannot be read: some user may be missing in it.
    static func number(inKernel text: String?, map: String?) -> UInt32? {
        if words(of: map) == words(of: whole) { return nil }
        return words(of: text).first.flatMap { UInt32($0) } ?? 65534
    }

    private static func words(of text: String?) -> [Substring] { text?.split(whereSeparator: \.isWhitespace) ?? [] }

    private static func content(_ path: String) -> String? {
        (try? BoundedFile.read(path, upTo: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
    }
}
