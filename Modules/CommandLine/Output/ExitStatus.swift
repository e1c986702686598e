/// The program's exit statuses; the numbers are those of sysexits if it has one.
struct ExitStatus: RawRepresentable, Sendable, Hashable {
    let rawValue: Int32

    /// For any HTTP status.
    static let done = ExitStatus(rawValue: 0)
    /// With `fetch --fail`: the HTTP status was 400 or above.
    static let httpFailure = ExitStatus(rawValue: 22)
    static let usage = ExitStatus(rawValue: 64)
    /// A gateway or server cannot be reached, or an address cannot be listened on.
    static let unavailable = ExitStatus(rawValue: 69)
    /// An internal error.
    static let software = ExitStatus(rawValue: 70)
    /// A store is damaged or a file cannot be read or written.
    static let inputOutput = ExitStatus(rawValue: 74)
    /// Another process writes to the store.
    static let inUse = ExitStatus(rawValue: 75)
    /// A peer violated a protocol, or TLS failed.
    static let protocolError = ExitStatus(rawValue: 76)
    /// Not authorized, withdrawn, or denied by policy.
    static let notAuthorized = ExitStatus(rawValue: 77)
}
