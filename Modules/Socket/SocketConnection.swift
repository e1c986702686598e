internal import SallyportBase
public import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// A connection to a server: bytes both ways, until each side has ended its own.
///
/// One task may read while another writes. Releasing it resets it. It ends with the withdrawal's code when authorization is
/// withdrawn.
public final class SocketConnection: Sendable {
    public let endpoint: Endpoint
    /// Who is at the other end, and how it is reached.
    public let peer: PeerFacts

    let tunnel: Tunnel
    private let closeTimeout: Duration
    private let state = Lock(State())

    private struct State {
        /// Came, and was not read yet.
        var rest: ArraySlice<UInt8> = []
        var isReading = false
        var isWriteEnded = false
        /// Nobody is to hear of it as of something that broke.
        var isEndedByApp = false
    }

    init(_ tunnel: Tunnel, _ decision: RouteDecision, _ target: SocketTarget) {
        endpoint = target.endpoint
        peer = PeerFacts(tunnel.facts, decision, disabled: target.configuration.disabled)
        self.tunnel = tunnel
        closeTimeout = target.configuration.closeTimeout
    }

    deinit { if !state.withLock({ $0.isEndedByApp }) { tunnel.reset() } }

    /// Octets of the app's that were given to the connection; those of TLS are not counted.
    public var sentOctets: Int { tunnel.sentOctets }
    /// Octets that came from the server, read by the app or not.
    public var receivedOctets: Int { tunnel.receivedOctets }

    // MARK: Reading

    /// What the server sends, chunk by chunk, until it has ended its side. Reading slowly slows it down. Iterated once;
    /// leaving the loop early leaves the connection open.
    public var bytes: SocketBytes { SocketBytes(self) }

    /// The next bytes, at most `limit` of them, as many as lie ready; nil once the server has ended its side.
    ///
    /// Cancelling the task closes the connection.
    ///
    /// - Parameter limit: more than zero.
    /// - Throws: `wrongState` while another task reads; `networkUnavailable` where the connection ended without the server's
    ///   saying so; `serviceTimeOut`; `withdrawn`; `cancelled`.
    public func read(upTo limit: Int = .max) async throws(SocketError) -> [UInt8]? {
        guard limit > 0 else { throw SocketError(.invalidRequest, "At least one octet is read.") }
        if let ready = take(limit) { return ready }
        try beginReading()
        defer { state.withLock { $0.isReading = false } }
        do throws(LoadError) {
            guard let chunk = try await tunnel.read() else { return nil }
            if chunk.count <= limit { return chunk }
            state.withLock { $0.rest = chunk[...] }
            return take(limit)
        } catch {
            if error.code == .cancelled { close() }
            throw SocketError(error)
        }
    }

    var isBeingRead: Bool { state.withLock { $0.isReading } }

    private func beginReading() throws(SocketError) {
        let isFree = state.withLock { state in
            defer { state.isReading = true }
            return !state.isReading
        }
        guard isFree else { throw SocketError(.wrongState, "A connection is read by one task at a time.") }
    }

    private func take(_ limit: Int) -> [UInt8]? {
        state.withLock { state in
            guard !state.rest.isEmpty else { return nil }
            defer { state.rest = state.rest.dropFirst(limit) }
            return Array(state.rest.prefix(limit))
        }
    }

    // MARK: Writing

    /// Sends bytes; returns when there is room for more. By one task at a time.
    ///
    /// - Throws: `wrongState` once our side was ended; otherwise as ``read(upTo:)``.
    public func write(_ bytes: [UInt8]) async throws(SocketError) {
        guard !state.withLock({ $0.isWriteEnded }) else {
            throw SocketError(.wrongState, "Our side of the connection was ended.")
        }
        do throws(LoadError) {
            try await tunnel.write(bytes)
        } catch {
            throw SocketError(error)
        }
    }

    /// Sends text as UTF-8.
    ///
    /// - Throws: as ``write(_:)``.
    public func write(_ text: String) async throws(SocketError) { try await write(Array(text.utf8)) }

    /// Ends our side once all is sent, and goes on reading: close_notify where there is TLS, else FIN. Through a relay the
    /// server sees the same. Idempotent.
    public func closeWrite() {
        state.withLock { $0.isWriteEnded = true }
        tunnel.closeWrite()
    }

    // MARK: End

    /// Ends our side once all is sent, and waits until the server has ended its own, at most for
    /// ``SocketConfiguration/closeTimeout``. What still comes is dropped. Idempotent.
    public func shutdown() async {
        finish()
        while await readsOn() {}
    }

    private func readsOn() async -> Bool {
        do throws(SocketError) {
            return try await read() != nil
        } catch {
            return false
        }
    }

    /// Ends our side, and the connection with the server's, or after the time for it.
    func finish() {
        let isFirst = state.withLock { state in
            defer { (state.isWriteEnded, state.isEndedByApp) = (true, true) }
            return !state.isEndedByApp
        }
        if isFirst { tunnel.shutdown(within: closeTimeout) }
    }

    /// Ends both directions at once with a reset, so that the server does not take what it has for the whole. Idempotent.
    public func close() { tunnel.reset() }
}

/// What a server sends over a ``SocketConnection``, in chunks that are never empty.
public struct SocketBytes: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = SocketError

    private let connection: SocketConnection

    init(_ connection: SocketConnection) { self.connection = connection }

    public func makeAsyncIterator() -> Iterator { Iterator(connection: connection) }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let connection: SocketConnection

        public mutating func next() async throws(SocketError) -> [UInt8]? { try await connection.read() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(SocketError) -> [UInt8]? {
            try await connection.read()
        }
    }
}

@available(*, unavailable)
extension SocketBytes.Iterator: Sendable {}
