internal import HTTPTypes
package import SallyportCore
package import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// HTTP exchanges and byte tunnels, each over the connections of one ``ConnectionPath``.
///
/// Environment variables have no effect: neither `http_proxy` and similar ones nor `SSLKEYLOGFILE`. Redirects are not
/// followed, cookies are not stored, credentials are not looked up.
package final class Transport: Sendable {
    private let engines: [TransportEngine]

    /// - Parameters:
    ///   - idleLifetime: the connections of a path are closed after the path was unused for this time, or up to twice
    ///     as long. A connection that was idle for 118 s is never used again.
    ///   - engine: the implementation of HTTP/1.1.
    ///   - whenRelayBreaks: called when a relay ended or refused a connection. The loss is reported once it returns,
    ///     unless its findings have ended the exchange or the tunnel with another error.
    ///   - whenAgreed: is told of each handshake with a server that has succeeded.
    package init(
        loops: EventLoopGroup = .shared, idleLifetime: Duration = .seconds(60), engine: HTTP1Engine = .chosen,
        whenRelayBreaks: (@Sendable () async -> Void)? = nil, whenAgreed: AgreedVersion.Listener? = nil
    ) {
        engines = loops.loops.map {
            TransportEngine(
                on: $0, idleLifetime: idleLifetime, engine: engine, whenRelayBreaks: whenRelayBreaks,
                whenAgreed: whenAgreed)
        }
    }

    deinit { closeConnections { _ in true } }

    /// Sends a request and returns at the head of the answer.
    ///
    /// Cancelling the task ends the exchange, until the head is there; discarding the body ends it afterwards. A
    /// request made on one of the transport's loops stays on it.
    ///
    /// - Throws: ``LoadError`` with the step that failed.
    @inline(__always)
    package func exchange(
        _ request: consuming ExchangeRequest, via path: ConnectionPath
    ) async throws(LoadError) -> ExchangeResponse {
        if Task.isCancelled { throw .cancelled() }
        guard let endpoint = request.url.endpoint else {
            throw LoadError(.unsupportedScheme, at: .routing, "The transport speaks http and https.")
        }
        if request.url.isSecure { try checkVersions(path) }
        try checkWay(path)
        if path.owner != nil { request = request.alone }
        let exchange = try ExchangeHandle(request, to: endpoint, engine: engine(for: path))
        let answer = await withTaskCancellationHandler {
            // SAFETY: `ExchangeCaller` says by what it is resumed.
            await unsafe withUnsafeContinuation { continuation in
                exchange.engine.start(
                    exchange, via: path, answering: unsafe ExchangeCaller(continuation), mayWait: true)
            }
        } onCancel: {
            exchange.cancel()
        }
        switch answer {
        case .response(let response): return response
        case .failed(let failure): throw failure
        case .expectationRefused:
            return try await exchangeAgain(exchange.request.withoutExpectation, via: path)
        }
    }

    /// `exchange` is always inlined, and so cannot call itself.
    private func exchangeAgain(
        _ request: ExchangeRequest, via path: ConnectionPath
    ) async throws(LoadError) -> ExchangeResponse {
        try await exchange(request, via: path)
    }

    /// Opens a byte stream to a server.
    ///
    /// Cancelling the task cancels the attempt.
    ///
    /// - Throws: ``LoadError`` with the step that failed.
    package func tunnel(_ request: TunnelRequest, via path: ConnectionPath) async throws(LoadError) -> Tunnel {
        if Task.isCancelled { throw .cancelled() }
        if request.isSecure { try checkVersions(path) }
        try checkWay(path)
        guard let protocols = ApplicationProtocols.wire(request.applicationProtocols) else {
            throw LoadError(.invalidRequest, at: .routing, "A name of ALPN has 1 to 255 bytes.")
        }
        let opening = OpeningHandle(request, offering: protocols, engine: engine(for: path))
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: TunnelOpening.Continuation) in
                opening.engine.post(.open(opening, path, continuation))
            }
        } onCancel: {
            opening.cancel()
        }
        return try result.get()
    }

    private func checkVersions(_ path: ConnectionPath) throws(LoadError) {
        guard path.versions.isEmpty else { return }
        throw LoadError(.noCommonTLSVersion, at: .routing, "Settings, blocks and floor leave no version to offer.")
    }

    /// libcurl would look for the relay at the socket, and supports only one proxy, which the relay is.
    private func checkWay(_ path: ConnectionPath) throws(LoadError) {
        if path.relay != nil, path.proxy != nil {
            throw LoadError(.proxyWithRelay, at: .routing, "A relay cannot be used through a proxy.")
        }
        guard path.socket != nil, path.relay != nil || path.proxy != nil else { return }
        throw LoadError(.invalidRequest, at: .routing, "A Unix socket is reached without relay and proxy.")
    }

    /// The engine of the loop that the caller runs on, or else the path's own, so that its connections are shared. A
    /// connection with one owner stays on its loop.
    private func engine(for path: ConnectionPath) -> TransportEngine {
        if engines.count == 1 { return engines[0] }
        if path.owner == nil, let current = engines.first(where: \.loop.isCurrent) { return current }
        return engines[Int(UInt(bitPattern: path.hashValue) % UInt(engines.count))]
    }

    /// Keeps new exchanges from using the connections of these paths; exchanges and tunnels in flight continue.
    package func closeConnections(where isAffected: @escaping @Sendable (ConnectionPath) -> Bool) {
        for engine in engines { engine.post(.retire(isAffected)) }
    }

    /// Ends the exchanges and the openings of tunnels of these paths with `failure`, even those whose body is being
    /// received: for a withdrawn authorization or an invalidated session.
    package func endExchanges(
        with failure: LoadError, where isAffected: @escaping @Sendable (ConnectionPath) -> Bool
    ) {
        for engine in engines { engine.post(.endAll(failure, isAffected)) }
    }

    /// Ends the exchanges and tunnels for which `judge` returns an error, including those that wait for a connection,
    /// and closes the idle connections of a path if it refuses one of them. All others continue.
    package func judge(by judge: @escaping @Sendable (OpenConnection) -> LoadError?) {
        for engine in engines { engine.post(.judge(judge)) }
    }

    /// Ends every exchange and tunnel with ``LoadError/Code/sessionInvalidated`` and frees all connections.
    /// Idempotent; later exchanges throw the same. Only then may the loops be shut down.
    package func shutdown() async {
        for engine in engines {
            await withCheckedContinuation { engine.post(.shutdown($0)) }
        }
    }
}

/// An exchange as every thread may see it: what was asked for, and its place among the exchanges of its loop. Callers and
/// the hooks of bodies post it to the engine, which finds the ``Exchange`` by it.
final class ExchangeHandle: LoopHandle {
    let request: ExchangeRequest
    let origin: Origin
    let body: UploadSource
    let engine: TransportEngine
    let start = LoopInstant.now
    private let wasCancelled = Atomic(false)
    private let index = Atomic(-1)

    /// - Parameter endpoint: the endpoint of the request's URL.
    init(_ request: consuming ExchangeRequest, to endpoint: Endpoint, engine: TransportEngine) throws(LoadError) {
        try request.checkMethod()
        body = try UploadSource(request.body)
        origin = Origin(
            endpoint: endpoint, isSecure: request.url.isSecure, isHTTP1Only: request.protocols == .http1Only)
        if body.isEmpty { self.request = request.withoutExpectation } else { self.request = request }
        self.engine = engine
    }

    /// With HTTP/2, a slow reader would delay the answers of others.
    var mayStallOthers: Bool {
        request.collectsUpTo == nil && request.url.isSecure && request.protocols == .automatic
    }

    var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }

    /// The caller's task was cancelled. From any thread.
    func cancel() {
        wasCancelled.store(true, ordering: .releasing)
        engine.post(.cancel(self))
    }

    /// Answers an exchange that never reached a pool.
    func refuse(_ failure: LoadError, _ caller: ExchangeCaller) {
        if let reporter = request.reporter {
            var report = ExchangeReport()
            report.failure = failure
            report.end = LoopInstant.now.elapsed(since: start)
            reporter(report)
        }
        caller.resume(with: .failed(failure))
    }

    // MARK: Place

    /// Set and read on the loop only; atomic, because nothing else proves that.
    var place: Int {
        get { index.load(ordering: .relaxed) }
        set { index.store(newValue, ordering: .relaxed) }
    }
}

/// How an exchange is answered.
enum ExchangeAnswer: Sendable {
    case response(ExchangeResponse)
    case failed(LoadError)
    /// The server answered 417, and the request can be sent again without `Expect` (RFC 9110 §15.5.18).
    case expectationRefused
}

/// The task that waits for an exchange.
///
/// A checked continuation would be another object for each request. It is resumed exactly once: by the handle that is
/// refused, of which there is no ``Exchange``, or else by the exchange, which gives it up as it ends or has a head
/// (``AnswerState``).
@safe
struct ExchangeCaller: Sendable {
    private let continuation: UnsafeContinuation<ExchangeAnswer, Never>

    init(_ continuation: UnsafeContinuation<ExchangeAnswer, Never>) { unsafe self.continuation = continuation }

    func resume(with answer: consuming ExchangeAnswer) {
        // SAFETY: called once, see above.
        unsafe continuation.resume(returning: answer)
    }
}
