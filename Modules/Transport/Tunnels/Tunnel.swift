package import SallyportCore

/// What a tunnel is to be.
package struct TunnelRequest: Sendable {
    package var endpoint: Endpoint
    /// Whether TLS is spoken with the server, by the versions, trust and identity of the path.
    package var isSecure: Bool
    /// The longest time until the tunnel stands, for each relay tried.
    package var connectTimeout: Duration = .seconds(10)

    package init(to endpoint: Endpoint, isSecure: Bool = false) {
        self.endpoint = endpoint
        self.isSecure = isSecure
    }
}

/// A stream of bytes to one server, direct or through a relay, with or without TLS to the server.
///
/// One task may read while another writes. Releasing the tunnel closes it. At most 1 MiB is read ahead, and as much
/// waits to be sent.
package final class Tunnel: Sendable {
    package let endpoint: Endpoint
    private let stream: TunnelStream

    init(_ endpoint: Endpoint, _ stream: TunnelStream) {
        self.endpoint = endpoint
        self.stream = stream
    }

    deinit { close() }

    /// The next bytes, as many as lie ready; nil once the server has ended its side.
    ///
    /// The end of a TCP connection without TLS's own end is an error, not an end. Cancelling the task ends the
    /// reading for good.
    package func read() async throws(LoadError) -> [UInt8]? { try await stream.down.next() }

    /// Sends `bytes`; returns when there is room for more. What could not be sent fails the next read or write.
    package func write(_ bytes: [UInt8]) async throws(LoadError) { try await stream.up.write(bytes) }

    /// Ends the direction to the server once all is sent, and leaves the other open: close_notify where there is
    /// TLS, else FIN.
    package func closeWrite() { stream.up.finish() }

    /// Ends both directions at once. Reads and writes that wait throw ``LoadError/Code/connectionLost``.
    package func close() { stream.postClose() }
}
