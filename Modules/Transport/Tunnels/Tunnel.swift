internal import SallyportBase
package import SallyportCore
internal import SallyportLoading
internal import Synchronization

/// What a tunnel is to be.
package struct TunnelRequest: Sendable {
    package var endpoint: Endpoint
    /// Whether TLS is spoken with the server, by the versions, trust and identity of the path.
    package var isSecure: Bool
    /// The longest time until the tunnel stands, for each relay tried.
    package var connectTimeout: Duration = .seconds(10)
    /// What the server is offered in ALPN, the best first; each name of 1 to 255 octets.
    package var applicationProtocols: [String] = []
    /// The longest time in which nothing comes and nothing goes; none where nil.
    package var idleTimeout: Duration?
    /// The end of the tunnel, whatever goes on; none where nil.
    package var deadline: ContinuousClock.Instant?

    package init(to endpoint: Endpoint, isSecure: Bool = false) {
        self.endpoint = endpoint
        self.isSecure = isSecure
    }

    var limits: TunnelLimits { TunnelLimits(idleTimeout: idleTimeout, deadline: deadline) }
}

/// A stream of bytes to one server, direct or through a relay, with or without TLS to the server.
///
/// One task may read while another writes. Releasing the tunnel closes it. At most 256 KiB are read ahead, and as much
/// waits to be sent.
package final class Tunnel: Sendable {
    package let endpoint: Endpoint
    package let facts: TunnelFacts
    /// The connection as a policy judges it.
    package let openConnection: OpenConnection
    private let stream: TunnelStream

    init(_ endpoint: Endpoint, _ stream: TunnelStream, _ facts: TunnelFacts, _ openConnection: OpenConnection) {
        self.openConnection = openConnection
        self.endpoint = endpoint
        self.stream = stream
        self.facts = facts
    }

    deinit { stream.post(.released) }

    /// The next bytes, as many as lie ready; nil once the server has ended its side.
    ///
    /// The end of a TCP connection without TLS's own end is an error, not an end. Cancelling the task ends the
    /// reading for good.
    package func read() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            return try await stream.down.next()
        } catch {
            guard error.code == .cancelled, !Task.isCancelled, let failure else { throw error }
            throw failure
        }
    }

    /// Why the connection broke; nil while it has not, and where it came to its end.
    package var failure: LoadError? { stream.ending.withLock { $0.failure } }

    /// Calls `tell` on the loop, once, when the connection is over; at once where it is.
    package func whenOver(_ tell: @escaping @Sendable () -> Void) { stream.whenOver(tell) }

    /// Sends `bytes`; returns when there is room for more. What could not be sent fails the next read or write.
    package func write(_ bytes: [UInt8]) async throws(LoadError) {
        if Task.isCancelled { throw .cancelled() }
        do throws(LoadError) {
            try await stream.up.waitForRoom(behind: stream.write(bytes))
        } catch {
            guard error.code != .cancelled, let failure else { throw error }
            throw failure
        }
    }

    /// Sends `bytes` without waiting for room; what could not be sent fails the next read.
    package func send(_ bytes: [UInt8]) { _ = stream.write(bytes) }

    /// Octets that wait to be sent, but for some 64 KiB that are on their way.
    package var unsentOctets: Int { stream.up.bufferedOctets }
    /// Octets of the app's that were given to TLS, or to the socket.
    package var sentOctets: Int { stream.wire.sentOctets }
    /// Octets of the server's that came out of TLS, or of the socket.
    package var receivedOctets: Int { stream.received.load(ordering: .relaxed) }

    /// Ends the direction to the server once all is sent, and leaves the other open: close_notify where there is
    /// TLS, else FIN.
    package func closeWrite() { stream.up.finish() }

    /// Ends the direction to the server once all is sent, and the connection once the server has ended its side too;
    /// after `limit` in any case. Reading goes on meanwhile.
    package func shutdown(within limit: Duration) { stream.post(.shutdown(within: limit)) }

    /// Ends both directions at once. Reads and writes that wait throw ``LoadError/Code/connectionLost``.
    package func close() { stream.post(.close) }

    /// Ends both directions at once with a reset, so that the server does not take what it has for the whole.
    package func reset() { stream.post(.reset) }
}
