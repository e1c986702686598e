internal import HTTPTypes
public import SallyportCore
public import SallyportLoading
internal import SallyportTransport

/// A peer on this machine with which a plugin speaks HTTP and which has no host and port: a process that listens at a
/// Unix socket, or the other end of a byte stream.
///
/// If a plugin's peer is something else, such as a process that it started or a virtual machine, the plugin listens at
/// its own socket, in a directory that only this user may enter, and forwards the bytes.
///
/// **The administrator's policy does not apply to sockets.** It does apply to streams, which it has allowed. Say so in
/// the plugin's documentation, and let the app list the allowed sockets.
public struct LocalPeer: Sendable {
    private enum Place: Sendable {
        case socket(String)
        case stream(StreamPeer)
    }

    private let place: Place

    /// The process that listens at a Unix socket.
    ///
    /// - Parameter socket: its absolute path, of at most 107 bytes (unix(7)); a load ends with `cannotConnect` if no
    ///   process listens there.
    public static func unixSocket(_ socket: String) -> LocalPeer { LocalPeer(place: .socket(socket)) }

    /// The other end of a stream, such as one of ``ResponseWriter/tunnels``: HTTP/1.1 begins with the next byte in
    /// either direction. Everything before that, including STARTTLS, is up to the plugin.
    ///
    /// The peer owns the stream from its first exchange on. Exchanges use it one after another, in the order in which
    /// they began, all for the principal of the first; others end with `cannotConnect`. A body of up to 192 KiB that is
    /// not read makes no other exchange wait.
    ///
    /// The stream is closed after an answer that lets no other follow, or that refuses a body before its end; if bytes
    /// come unasked, which includes those that were not read before the first exchange; when it has been idle for 90 s;
    /// and when neither this peer nor the body of an answer is in use. An exchange that fails or is cancelled resets
    /// it. Once it has ended, exchanges end with its own failure, or with `cannotConnect`. Nothing is sent twice, as
    /// there is no other connection: a refused expectation (417) is the answer.
    public static func stream(_ stream: ByteStream) -> LocalPeer { LocalPeer(place: .stream(StreamPeer(stream))) }

    /// The connections of all plugins of the process. Never shut down, as handlers come and go; idle ones are closed.
    private static let transport = Transport()

    fileprivate func exchange(
        _ request: ExchangeRequest, in context: LoadContext
    ) async throws(LoadError) -> ExchangeResponse {
        switch place {
        case .socket(let socket):
            let partition = ConnectionPartition(.plugin, principal: context.principal)
            return try await Self.transport.exchange(request, via: ConnectionPath(partition: partition, socket: socket))
        case .stream(let peer): return try await peer.exchange(request, for: context.principal)
        }
    }
}

extension ResponseWriter {
    /// Sends a request to a peer on this machine with HTTP/1.1, and returns its answer.
    ///
    /// Neither is processed: redirects are not followed, content codings not decoded, and there are no cookies, cache
    /// or credentials. The body comes with back-pressure. Connections are kept for the next load from the same peer in
    /// the name of the same principal, and serve nothing else. The load's deadline, idle time-out, principal and wait for
    /// `100 Continue` apply, connecting takes at most 10 s, and cancelling the task ends the exchange. Pass the answer on
    /// with ``forward(_:)``.
    ///
    /// - Parameters:
    ///   - request: as the session gave it. Its method, fields and body are sent; the answer has its URL.
    ///   - url: the `http` URL to request from the peer; its host is sent in the field `Host` and not connected to.
    ///   - peer: a Unix socket or a stream.
    /// - Throws: `unsupportedScheme` if `url` is not `http`; `cannotConnect`; the errors of an HTTP exchange and of a
    ///   stream. Do not catch them.
    public func exchange(
        _ request: LoadRequest, as url: RequestURL, with peer: LocalPeer
    ) async throws(LoadError) -> LoadResponse {
        guard url.scheme == "http" else {
            throw LoadError(.unsupportedScheme, at: .routing, "A plugin's peer is spoken to with http.")
        }
        var exchange = ExchangeRequest(request.method, url, headerFields: request.headerFields, body: request.body)
        exchange.idleTimeout = context.idleTimeout
        exchange.deadline = context.deadline
        exchange.continueTimeout = request.differing?.options.continueTimeout
        let answer = try await peer.exchange(exchange, in: context)
        var facts = LoadFacts()
        facts.hops = answer.hops
        facts.hops[0].url = request.url
        return LoadResponse(head: answer.head, url: request.url, body: answer.body, facts: facts)
    }
}
