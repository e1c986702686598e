internal import SallyportBase
public import SallyportCore

/// The address of a resource behind a Unix socket: `http+unix://%2Frun%2Fdaemon.sock/version`.
///
/// The host is the socket's path, with `/` and everything except letters, digits and `-._~` escaped. The path must be
/// absolute, without empty segments, `.` and `..`, must not end with a slash, must be UTF-8 without NUL, and may have
/// at most ``maximumSocketLength`` bytes. Sockets in the abstract name space, user names and ports are refused.
public struct UnixSocketURL: Sendable, Hashable {
    /// `http+unix`, in lower case; a URL's scheme may be in either.
    public static let scheme = "http+unix"
    /// The longest path of a socket, in bytes: the capacity of `sun_path` without its NUL (unix(7)).
    public static let maximumSocketLength = 107

    /// The path of the socket.
    public let socket: String
    /// The whole URL in its canonical form, without a fragment.
    public let url: RequestURL
    /// The URL of the request to the daemon.
    let inner: RequestURL

    /// - Throws: `LoadError` with the code `invalidRequest` if the URL does not have this form.
    public init(_ url: RequestURL) throws(LoadError) {
        guard url.scheme == Self.scheme, let authority = url.authority else {
            throw Self.malformed("The URL is not http+unix with a socket as its host.")
        }
        guard authority.utf8.allSatisfy({ PercentCoding.isUnreserved($0) || $0 == UInt8(ascii: "%") }),
            let bytes = PercentCoding.decoded(authority), let socket = String(validating: bytes, as: UTF8.self)
        else { throw Self.malformed("The host is not the escaped path of a socket.") }
        try self.init(socket: socket, target: url.target)
    }

    /// - Parameters:
    ///   - socket: the path of the socket, without escapes.
    ///   - target: path and query, escaped; `/` if empty.
    /// - Throws: as ``init(_:)``.
    public init(socket: String, target: String) throws(LoadError) {
        guard Self.isPath(socket) else { throw Self.malformed("The host is not the absolute path of a socket.") }
        guard target.isEmpty || target.utf8.first == UInt8(ascii: "/") || target.utf8.first == UInt8(ascii: "?") else {
            throw Self.malformed("The target begins with a slash.")
        }
        self.socket = socket
        do throws(AddressError) {
            inner = try RequestURL("http://localhost\(target)")
            url = try RequestURL("\(Self.scheme)://\(Self.escaped(socket))\(inner.target)")
        } catch {
            throw LoadError(.invalidRequest, "Path and query are not those of a URL.", underlying: error)
        }
    }

    private static func isPath(_ socket: String) -> Bool {
        guard socket.utf8.first == UInt8(ascii: "/"), socket.utf8.count <= maximumSocketLength,
            !socket.utf8.contains(0)
        else { return false }
        return socket.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }
    }

    private static func escaped(_ socket: String) -> String {
        // A `%` in a file name does not begin an escape.
        PercentCoding.encoded(socket, keepsEscapes: false, allowed: PercentCoding.isUnreserved)
    }

    private static func malformed(_ message: String) -> LoadError { LoadError(.invalidRequest, message) }
}
