internal import HTTPTypes
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

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
        self.request = request
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
