/// How the program ends; the numbers are sysexits' where they have one.
struct ExitStatus: RawRepresentable, Sendable, Hashable {
    let rawValue: Int32

    /// Whatever the HTTP status was.
    static let done = ExitStatus(rawValue: 0)
    /// With `fetch --fail`: the HTTP status was 400 or above.
    static let httpFailure = ExitStatus(rawValue: 22)
    static let usage = ExitStatus(rawValue: 64)
    /// A gateway or server cannot be reached.
    static let unavailable = ExitStatus(rawValue: 69)
    /// Something that should not happen.
    static let software = ExitStatus(rawValue: 70)
    /// A store is damaged or a file cannot be read or written.
    static let inputOutput = ExitStatus(rawValue: 74)
    /// Another process writes to the store.
    static let inUse = ExitStatus(rawValue: 75)
    /// A peer broke a protocol, or TLS did not succeed.
    static let protocolError = ExitStatus(rawValue: 76)
    /// Not authorized, withdrawn, or denied by policy.
    static let notAuthorized = ExitStatus(rawValue: 77)
}
