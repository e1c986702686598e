internal import SallyportBase
public import SallyportCore
internal import SallyportLoading

/// A stream of bytes to one server and back, relayed, direct or refused as the administrator's policy says.
///
/// One task may read while another writes. Releasing it closes it. It ends with the withdrawal's code when authorization
/// is withdrawn, and with `sessionInvalidated` with its session.
///
/// TLS with the server is spoken from the start or not at all: libcurl, which makes the connection, hands over no plain
/// stream that it would encrypt later (so no STARTTLS).
public final class StreamTask: Sendable {
    public let endpoint: Endpoint
    /// Whether TLS is spoken with the server.
    public let isSecure: Bool
    /// The route and the rule that decided; nil in the system session.
    public var decision: RouteDecision? { tunnel.decision }

    private let session: SecureSession
    private let tunnel: any RoutedTunnel
    private let idleTimeout: Duration
    private let deadline: ContinuousClock.Instant
    private let state: Lock<State>

    private struct State {
        var lastActivity = ContinuousClock.now
        /// Came, and was not read yet.
        var rest: ArraySlice<UInt8> = []
    }

    init(
        _ tunnel: any RoutedTunnel, _ request: RoutedTunnelRequest, of session: SecureSession, idleTimeout: Duration,
        deadline: ContinuousClock.Instant
    ) {
        endpoint = request.endpoint
        isSecure = request.isSecure
        self.session = session
        self.tunnel = tunnel
        self.idleTimeout = idleTimeout
        self.deadline = deadline
        state = Lock(State())
    }

    deinit { tunnel.close() }

    /// The next bytes, at most `limit` of them, as many as lie ready; nil once the server has ended its side. By one task
    /// at a time.
    ///
    /// Cancelling the task ends the reading for good.
    ///
    /// - Parameter limit: more than zero.
    /// - Throws: `idleTimeout` where for that long nothing was read and nothing written, `resourceTimeout`, either of which
    ///   closes the stream; `connectionLost` where the connection ended without saying so.
    public func read(upTo limit: Int = 64 << 10) async throws(LoadError) -> [UInt8]? {
        guard limit > 0 else { throw LoadError(.invalidRequest, "At least one octet is read.") }
        if let ready = take(limit) { return ready }
        let tunnel = tunnel
        let chunk = try await timed { () -> Result<[UInt8]?, LoadError> in
            do throws(LoadError) {
                return .success(try await tunnel.read())
            } catch {
                return .failure(error)
            }
        }
        guard let chunk else { return nil }
        return take(limit, adding: chunk)
    }

    private func take(_ limit: Int, adding chunk: [UInt8] = []) -> [UInt8]? {
        state.withLock { state in
            if !chunk.isEmpty { state.rest = chunk[...] }
            guard !state.rest.isEmpty else { return nil }
            defer { state.rest = state.rest.dropFirst(limit) }
            return Array(state.rest.prefix(limit))
        }
    }

    /// Sends bytes; returns when there is room for more. By one task at a time.
    ///
    /// - Throws: as ``read(upTo:)``.
    public func write(_ bytes: [UInt8]) async throws(LoadError) {
        let tunnel = tunnel
        try await timed { () -> Result<Void, LoadError> in
            do throws(LoadError) {
                return .success(try await tunnel.write(bytes))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Ends the direction to the server once all is sent, and leaves the other open: close_notify where there is TLS,
    /// else FIN.
    public func closeWrite() { tunnel.closeWrite() }

    /// Ends both directions at once. Idempotent.
    public func close() { tunnel.close() }

    // MARK: Time and ends

    private func active() { state.withLock { $0.lastActivity = .now } }

    /// Waits until the work is done, or the stream has been idle, or is late.
    private func timed<Value: Sendable>(
        _ work: @escaping @Sendable () async -> Result<Value, LoadError>
    ) async throws(LoadError) -> Value {
        active()
        let result = await withTaskGroup(of: (result: Result<Value, LoadError>, isLate: Bool).self) { group in
            group.addTask { (await work(), false) }
            group.addTask {
                let reason = await self.timeIsOver()
                return (.failure(reason), reason.code != .cancelled)
            }
            defer { group.cancelAll() }
            guard let first = await group.next() else { return Result<Value, LoadError>.failure(.cancelled()) }
            // Not before it is known why: the work would tell of the closing.
            if first.isLate { tunnel.close() }
            return first.result
        }
        active()
        do throws(LoadError) {
            return try result.get()
        } catch {
            throw reason(of: error)
        }
    }

    private func timeIsOver() async -> LoadError {
        while !Task.isCancelled {
            let idleUntil = state.withLock { $0.lastActivity } + idleTimeout
            let end = min(idleUntil, deadline)
            guard end <= .now else {
                try? await Task.sleep(until: end, clock: .continuous)
                continue
            }
            return idleUntil < deadline
                ? LoadError(.idleTimeout, at: .response, "No byte came or went for \(idleTimeout).")
                : LoadError(.resourceTimeout, at: .response, "The time for the whole stream is over.")
        }
        return .cancelled()
    }

    /// A stream that broke because it was made to tells why.
    private func reason(of failure: LoadError) -> LoadError {
        guard failure.code == .connectionLost else { return failure }
        do throws(LoadError) {
            try session.admit()
            try session.engine.checkAuthorized()
            return failure
        } catch {
            return error
        }
    }
}
