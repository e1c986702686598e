internal import HTTPTypes
public import SallyportCore
public import SallyportLoading
internal import SallyportTransport

/// What a plugin speaks HTTP with that is no host and no port: what listens at a Unix socket, or what is at the other end
/// of a stream of bytes.
///
/// A plugin whose peer is something else, such as a process that it started or a virtual machine, listens at a socket of its
/// own, in a directory that only this user may enter, and carries the bytes from there.
///
/// **The administrator's policy does not cover sockets**, but streams, which it has let through. Say so in the plugin's
/// documentation, and let the app list what it may reach.
public struct LocalPeer: Sendable {
    private enum Place: Sendable {
        case socket(String)
        case stream(StreamPeer)
    }

    private let place: Place

    /// What listens at a Unix socket.
    ///
    /// - Parameter socket: its absolute path, of at most 107 bytes (unix(7)); a load ends with `cannotConnect` if no
    ///   process listens there.
    public static func unixSocket(_ socket: String) -> LocalPeer { LocalPeer(place: .socket(socket)) }

    /// What is at the other end of a stream, such as one of ``ResponseWriter/tunnels``: HTTP/1.1 begins with the next byte in
    /// either direction. What the plugin says and hears before that, and STARTTLS, is its own affair.
    ///
    /// The stream is the peer's from its first exchange on. Exchanges go over it one after another, for as long as both sides
    /// keep it open; once it has ended, they end with its failure, or with `cannotConnect`. It is closed when it has been
    /// idle for a minute or two, and when neither this peer nor the body of an answer is left.
    public static func stream(_ stream: ByteStream) -> LocalPeer { LocalPeer(place: .stream(StreamPeer(stream))) }

    /// The connections of all plugins of the process. Never shut down, as handlers come and go; idle ones are closed.
    private static let transport = Transport()

    fileprivate func exchange(
        _ request: ExchangeRequest, in context: LoadContext
    ) async throws(LoadError) -> ExchangeResponse {
        let partition = ConnectionPartition(.plugin, principal: context.principal)
        switch place {
        case .socket(let socket):
            return try await Self.transport.exchange(request, via: ConnectionPath(partition: partition, socket: socket))
        case .stream(let peer):
            var request = request
            request.connectionsPerOrigin = 1
            let path = ConnectionPath(partition: partition, socket: try await peer.path())
            do throws(LoadError) {
                var response = try await Self.transport.exchange(request, via: path)
                response.body = ResponseBody(StreamedBody(response.body, of: response.head, from: peer))
                return response
            } catch {
                throw peer.reason(of: error)
            }
        }
    }
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
    /// - Throws: `unsupportedScheme` if `url` is not `http`; `cannotConnect`; those of an exchange over HTTP, and of a stream.
    ///   Let them go through.
    public func exchange(
        _ request: LoadRequest, as url: RequestURL, with peer: LocalPeer
    ) async throws(LoadError) -> LoadResponse {
        guard url.scheme == "http" else {
            throw LoadError(.unsupportedScheme, at: .routing, "A plugin's peer is spoken to with http.")
        }
        var exchange = ExchangeRequest(request.method, url, headerFields: request.headerFields, body: request.body)
        exchange.idleTimeout = context.idleTimeout
        exchange.deadline = context.deadline
        let answer = try await peer.exchange(exchange, in: context)
        var facts = LoadFacts()
        facts.hops = [answer.facts]
        facts.hops[0].url = request.url
        return LoadResponse(head: answer.head, url: request.url, body: answer.body, facts: facts)
    }
}
