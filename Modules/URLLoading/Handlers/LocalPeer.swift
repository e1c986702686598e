internal import HTTPTypes
public import SallyportCore
public import SallyportLoading
internal import SallyportTransport

/// What a plugin speaks HTTP with that is no host and no port: what listens at a Unix socket.
///
/// A plugin whose peer is something else, such as a process that it started or a virtual machine, listens at a socket of its
/// own, in a directory that only this user may enter, and carries the bytes from there.
///
/// **The administrator's policy does not cover it.** Say so in the plugin's documentation, and let the app list what it may
/// reach.
public struct LocalPeer: Sendable {
    /// The path of the socket.
    let socket: String

    /// What listens at a Unix socket.
    ///
    /// - Parameter socket: its absolute path, of at most 107 bytes (unix(7)); a load ends with `cannotConnect` if no
    ///   process listens there.
    public static func unixSocket(_ socket: String) -> LocalPeer { LocalPeer(socket: socket) }

    /// The connections of all plugins of the process. Never shut down, as handlers come and go; idle ones are closed.
    static let transport = Transport()
}

extension ResponseWriter {
    /// Sends a request to a peer of this machine with HTTP/1.1, and gives its answer.
    ///
    /// Nothing is done to either: redirects are not followed, content codings not undone, no cookies, cache or credentials.
    /// The body comes with back-pressure. Connections are kept for the next load from the same peer in the name of the same
    /// principal, and serve nothing else. The load's deadline, idle time-out and principal hold, a connection has 10 s to come
    /// about, and cancelling the task ends the exchange. What a handler answers with that was had here is handed over with
    /// ``forward(_:)``.
    ///
    /// - Parameters:
    ///   - request: as the session gave it. Its method, fields and body are sent; the answer has its URL.
    ///   - url: what the peer is asked for, with `http`; the host stands in the field `Host`, and leads nowhere.
    /// - Throws: `unsupportedScheme` if `url` is not `http`; `cannotConnect`; those of an exchange over HTTP. Let them
    ///   go through.
    public func exchange(
        _ request: LoadRequest, as url: RequestURL, with peer: LocalPeer
    ) async throws(LoadError) -> LoadResponse {
        guard url.scheme == "http" else {
            throw LoadError(.unsupportedScheme, at: .routing, "A plugin's peer is spoken to with http.")
        }
        var exchange = ExchangeRequest(request.method, url, headerFields: request.headerFields, body: request.body)
        exchange.idleTimeout = context.idleTimeout
        exchange.deadline = context.deadline
        let partition = ConnectionPartition(.plugin, principal: context.principal)
        let path = ConnectionPath(partition: partition, socket: peer.socket)
        let answer = try await LocalPeer.transport.exchange(exchange, via: path)
        var facts = LoadFacts()
        facts.hops = [answer.facts]
        facts.hops[0].url = request.url
        return LoadResponse(head: answer.head, url: request.url, body: answer.body, facts: facts)
    }
}
