package import SallyportCore
internal import SallyportEventLoop
package import SallyportLoading
internal import Synchronization

/// A byte stream to one server, direct or through a relay, with or without TLS to the server.
///
/// One task may read while another writes. Releasing the tunnel resets it, unless it was told to end by itself. At most
/// 256 KiB are read ahead, and at most as much waits to be sent; once a send has failed, what the kernel still has of
/// the server's bytes is read ahead too.
package final class Tunnel: ByteChannel {
    package let endpoint: Endpoint
    private let connection: OpenConnection
    private let ends: TunnelEnds

    init(_ ends: TunnelEnds, _ connection: OpenConnection) {
        endpoint = connection.endpoint
        self.connection = connection
        self.ends = ends
    }

    deinit { ends.post(.released) }

    package var facts: StreamFacts { ends.wire.facts }

    /// The connection, for a policy's decision.
    package var openConnection: OpenConnection {
        var open = connection
        open.tlsVersion = facts.tls.flatMap { TLSVersion(openSSL: $0.version) }
        return open
    }

    /// The next available bytes; nil once the server has ended its side.
    ///
    /// The end of TCP without TLS's close_notify is an error, not an end. What came before a failure is read first,
    /// unless access was withdrawn. Cancelling the task resets the tunnel.
    package func read(upTo limit: Int = .max) async throws(LoadError) -> [UInt8]? {
        ends.wire.callBegins()
        let start = ends.waitBriefly()
        defer { if let start { ends.answered(since: start) } }
        do throws(LoadError) {
            return try await ends.down.next(upTo: limit)
        } catch {
            guard error.code == .cancelled else { throw error }
            guard Task.isCancelled else { throw failure ?? error }
            reset()
            throw error
        }
    }

    package var failure: LoadError? { ends.wire.ending }

    package func whenOver(_ tell: @escaping @Sendable () -> Void) { ends.wire.whenOver(tell) }

    /// Sends `bytes`; returns when there is room for more. If sending fails, the next read or write throws.
    package func write(_ bytes: [UInt8]) async throws(LoadError) {
        if Task.isCancelled { throw .cancelled() }
        ends.wire.callBegins()
        let result = ends.write(bytes)
        if case .more = result { return }
        do throws(LoadError) {
            try await ends.up.waitForRoom(behind: result)
        } catch {
            throw reason(ofUnsent: error)
        }
    }

    private func reason(ofUnsent error: LoadError) -> LoadError {
        if error.code == .cancelled { return error }
        if error.code == .requestBodyFailed {
            return LoadError(.invalidRequest, at: .request, "Bytes are written by one task at a time.")
        }
        if let failure { return failure }
        guard ends.up.isFinished else { return error }
        return LoadError(.invalidRequest, at: .request, "Our side of the stream was ended.")
    }

    package func send(_ bytes: [UInt8]) { _ = ends.write(bytes) }

    package var unsentBytes: Int { ends.up.bufferedBytes }
    package var sentBytes: Int { ends.wire.sentBytes }
    package var receivedBytes: Int { ends.received.load(ordering: .relaxed) }
    package var readBytes: Int { ends.down.takenBytes }
    package var isBeingRead: Bool { ends.down.isAwaited }

    /// Ends the direction to the server once everything is sent, and leaves the other open: with close_notify under
    /// TLS, otherwise with FIN.
    package func closeWrite() { ends.up.finish() }

    /// Ends the direction to the server once everything is sent, and the connection once the server has ended its side
    /// too; after `limit` in any case. Reading continues meanwhile.
    package func shutdown(within limit: Duration) { ends.post(.shutdown(within: limit)) }

    /// Ends both directions at once. Waiting reads and writes throw ``LoadError/Code/connectionLost``.
    package func close() { ends.post(.close) }

    /// Ends both directions at once with a reset, so that the server does not take what it has received for complete.
    package func reset() { ends.post(.reset) }
}

// MARK: TLS on an open tunnel

extension Tunnel {
    /// Sends what was written, and stops all other reading and sending until ``handshake(via:_:)``.
    ///
    /// - Parameter time: for this and all handshakes together, not counting the time between the calls. If it is over,
    ///   the tunnel ends.
    /// - Throws: the reason why TLS cannot begin now. The tunnel is unchanged, unless unread bytes have arrived or the
    ///   time is over.
    package func prepareTLS(within time: Duration) async throws(LoadError) {
        try await secure { .prepare(within: time, $0) }
    }

    /// Makes a TLS handshake with the server, or continues one that is held. If the handshake raises a question, the
    /// error contains it, and the next call continues with the decision in its path. Any other failure ends the tunnel.
    ///
    /// - Parameters:
    ///   - path: only its settings for TLS with the server are used.
    ///   - applicationProtocols: as in ``TLSStart/applicationProtocols``.
    package func handshake(via path: ConnectionPath, _ applicationProtocols: [String]) async throws(LoadError) {
        guard let protocols = ApplicationProtocols.wire(applicationProtocols) else {
            throw LoadError(.invalidRequest, at: .serverTLS, "A name of ALPN has 1 to 255 bytes.")
        }
        let handshake = TunnelHandshake(path: path, applicationProtocols: protocols)
        try await secure { .handshake(handshake, $0) }
    }

    private func secure(
        _ order: (@escaping TunnelSecuring.Continuation) -> TunnelSecuring.Order
    ) async throws(LoadError) {
        if Task.isCancelled { throw .cancelled() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, LoadError>, Never>) in
                ends.post(order { continuation.resume(returning: $0) })
            }
        } onCancel: {
            reset()
        }
        if Task.isCancelled { throw .cancelled() }
        try result.get()
    }
}
