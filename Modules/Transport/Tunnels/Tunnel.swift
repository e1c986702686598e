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
/// One task may read while another writes. Releasing the tunnel closes it.
package final class Tunnel: Sendable {
    package let endpoint: Endpoint

    init(endpoint: Endpoint) { self.endpoint = endpoint }

    /// The next bytes, at most `limit` (one at least); nil once the server has ended its side.
    ///
    /// The end of a TCP connection without TLS's own end is an error, not an end. Cancelling the task ends the wait
    /// and leaves the tunnel open.
    package func read(upTo limit: Int = 64 << 10) async throws(LoadError) -> [UInt8]? {
        throw LoadError(.internalFailure, "Not built yet.")
    }

    /// Sends all of `bytes`; returns when they are handed to the operating system.
    ///
    /// A cancelled write may have sent a part: the tunnel is closed then.
    package func write(_ bytes: [UInt8]) async throws(LoadError) {
        throw LoadError(.internalFailure, "Not built yet.")
    }

    /// Ends the direction to the server and leaves the other open: close_notify where there is TLS, else FIN.
    package func closeWrite() async throws(LoadError) {
        throw LoadError(.internalFailure, "Not built yet.")
    }

    /// Ends both directions at once. Reads and writes that wait throw ``LoadError/Code/connectionLost``.
    package func close() {}
}
