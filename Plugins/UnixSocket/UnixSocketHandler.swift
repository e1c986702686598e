internal import SallyportCore
public import SallyportLoading
public import SallyportURLLoading

/// Which Unix sockets an app may reach: given with the registration of ``UnixSocketHandler``.
///
/// ```swift
/// enum DaemonSockets: UnixSocketAccess {
///     static let allowedSockets: Set = ["/run/daemon.sock"]
/// }
/// ```
public protocol UnixSocketAccess: Sendable {
    /// Absolute paths, byte for byte those of the URL after decoding: other spellings of the same path do not match,
    /// and the system follows links. Called for each load, from any thread.
    static var allowedSockets: Set<String> { get }
}

/// Loads `http+unix:` URLs: HTTP over a Unix socket of this machine, the socket's path as the escaped host.
///
/// ```swift
/// sallyport.protocols.register(UnixSocketHandler<DaemonSockets>.self)
/// let body = try await session.data(for: .get("http+unix://%2Frun%2Fdaemon.sock/version")).body
/// ```
///
/// **The administrator's policy does not apply to these loads**: it decides on hosts and ports, and a socket has
/// neither. A daemon may itself reach the network or run commands (a container engine's does both). So an app lists the
/// allowed sockets in its code, in ``UnixSocketAccess``; all others are refused with `refusedByPolicy` before a
/// connection is made. The list is exact: no patterns, no directories. A withdrawal of the authorization ends these
/// loads like all others.
///
/// Every method and body is sent, to the host `localhost`, with HTTP/1.1. Redirects are not followed and content
/// codings not decoded: the answer is passed on as it arrives, with back-pressure. Connections are kept for the same
/// socket and principal and shared with nothing else. The header fields that the session adds are sent too.
///
/// Errors are `LoadError`: `invalidRequest` for URLs that ``UnixSocketURL`` refuses, `refusedByPolicy`, `cannotConnect`
/// if no process listens or the socket's mode excludes this process, and those of an HTTP exchange. Idle and resource
/// time-outs are the session's; connecting takes at most 10 s.
public struct UnixSocketHandler<Access: UnixSocketAccess>: ProtocolHandler {
    public init() {}

    /// Whether the scheme is ``UnixSocketURL/scheme``.
    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == UnixSocketURL.scheme }

    /// The URL with the socket's path escaped in a unique way, and the target without dot segments and fragment. An
    /// invalid URL stays as it is; ``load(_:into:)`` refuses it.
    public static func canonicalForm(of request: LoadRequest) -> LoadRequest {
        var request = request
        if let url = try? UnixSocketURL(request.url).url { request.url = url }
        return request
    }

    /// Sends the request over the socket, and passes the answer on as it arrives.
    ///
    /// - Throws: `LoadError`: `invalidRequest` for a URL that ``UnixSocketURL`` refuses; `refusedByPolicy` for a socket
    ///   that the app does not allow; otherwise as an HTTP exchange.
    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        let address = try UnixSocketURL(request.url)
        guard Self.isAllowed(address.socket) else {
            throw LoadError(.refusedByPolicy, at: .routing, "The socket is not one of those that the app allows.")
        }
        let answer = try await response.exchange(request, as: address.inner, with: .unixSocket(address.socket))
        try await response.forward(answer)
    }

    /// Compares bytes: Swift's strings are equal too if a letter with an accent is one character in one of them and two
    /// in the other, which the file system takes for two paths.
    private static func isAllowed(_ socket: String) -> Bool {
        Access.allowedSockets.contains { $0.utf8.elementsEqual(socket.utf8) }
    }
}
