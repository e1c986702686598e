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
    /// Absolute paths, as the URL spells them once its escapes are undone: no other spelling is taken for one of
    /// these, and links are followed by the system. Asked for each load, from any thread.
    static var allowedSockets: Set<String> { get }
}

/// Loads `http+unix:` URLs: HTTP over a Unix socket of this machine, the socket's path as the escaped host.
///
/// ```swift
/// sallyport.protocols.register(UnixSocketHandler<DaemonSockets>.self)
/// let body = try await session.data(for: .get("http+unix://%2Frun%2Fdaemon.sock/version")).body
/// ```
///
/// **The administrator's policy does not cover these loads**: it decides about hosts and ports, and a socket has
/// neither. A daemon may itself reach the network or run what it is told to (that of a container engine does both).
/// So an app lists the sockets that it means in its code, in ``UnixSocketAccess``; every other one is refused with
/// `refusedByPolicy` before a connection is made. The list is exact: no patterns, no directories. Withdrawal of the
/// authorization ends these loads as it ends all others.
///
/// Each method and body is sent, to the host `localhost`, with HTTP/1.1. Redirects are not followed and content
/// codings not undone: the answer is handed over as it comes, with back-pressure. Connections are kept for the same
/// socket and principal and shared with nothing else. The header fields that the session adds are sent, too.
///
/// Errors are `LoadError`: `invalidRequest` for what ``UnixSocketURL`` does not read, `refusedByPolicy`,
/// `cannotConnect` if no process listens or the socket's mode excludes this process, and those of an exchange over
/// HTTP. Idle and resource time-outs are the session's; a connection has 10 s to come about.
public struct UnixSocketHandler<Access: UnixSocketAccess>: ProtocolHandler {
    public init() {}

    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == UnixSocketURL.scheme }

    /// The socket's path escaped in one way only, the target without dots and fragment. A URL that is not read stays
    /// as it is; ``load(_:into:)`` refuses it.
    public static func canonicalForm(of request: LoadRequest) -> LoadRequest {
        var request = request
        if let url = try? UnixSocketURL(request.url).url { request.url = url }
        return request
    }

    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        let address = try UnixSocketURL(request.url)
        guard Access.allowedSockets.contains(address.socket) else {
            throw LoadError(.refusedByPolicy, at: .routing, "The socket is not one of those that the app allows.")
        }
        let answer = try await response.exchange(request, as: address.inner, with: .unixSocket(address.socket))
        try await response.forward(answer)
    }
}
