package import HTTPTypes
internal import SallyportBase
package import SallyportCore

/// Records one load, or one byte stream. Created only if the record is wanted; stages and transport write into it from
/// any thread.
package final class LoadRecorder: Sendable {
    /// How a load ended.
    package enum End: Sendable {
        case complete
        /// The body was not read to its end.
        case discarded
        case failed(LoadError)
    }

    private struct State {
        var record: LoadRecord
        /// Exchanges whose report has not arrived yet.
        var open: Set<Int> = []
        var end: Duration?
        /// Called once, when the load is over and every exchange has reported.
        var listeners: [@Sendable (LoadRecord) -> Void] = []
    }

    private let start = ContinuousClock.now
    private let state: Lock<State>

    package init(_ request: LoadRequest, id: UInt64) {
        state = Lock(
            State(
                record: LoadRecord(
                    id: id, method: request.method.rawValue, url: request.url.redacted,
                    started: LoadRecord.text(LoadRecord.now), duration: 0, outcome: "loading")))
    }

    /// Records a byte stream: one hop for each attempt to open it.
    package init(streamTo endpoint: Endpoint, isSecure: Bool) {
        state = Lock(
            State(
                record: LoadRecord(
                    id: LoadNumbers.next(), method: "CONNECT", url: LoadRecord.url(endpoint, isSecure: isSecure),
                    started: LoadRecord.text(LoadRecord.now), duration: 0, outcome: "loading")))
    }

    private var elapsed: Duration { start.duration(to: .now) }

    /// The record so far.
    package var record: LoadRecord {
        let now = elapsed
        return state.withLock { state in
            var record = state.record
            record.duration = (state.end ?? now).seconds
            return record
        }
    }

    /// Calls `listener` once with the complete record, on the thread that ends the load. It must not block.
    package func whenEnded(_ listener: @escaping @Sendable (LoadRecord) -> Void) {
        state.withLock { $0.listeners.append(listener) }
    }

    // MARK: The load

    package func answered(_ status: HTTPResponse.Status) {
        let now = elapsed
        state.withLock { state in
            state.record.status = status.code
            state.record.head = now.seconds
        }
    }

    /// The stream is open.
    package func opened() {
        let now = elapsed
        state.withLock { state in
            state.record.head = now.seconds
            if state.end == nil { state.record.outcome = "open" }
        }
    }

    package func took(_ bytes: Int) { state.withLock { $0.record.bodyBytes += bytes } }

    package func decided(_ kind: LoadRecord.Decision.Kind, _ value: String, because reason: String? = nil) {
        let now = elapsed
        state.withLock { state in
            state.record.decisions.append(.init(kind: kind, value: value, reason: reason, at: now.seconds))
        }
    }

    /// Only the first end counts.
    package func ended(_ end: End) {
        let now = elapsed
        state.withLock { state in
            guard state.end == nil else { return }
            state.end = now
            switch end {
            case .complete: state.record.outcome = "complete"
            case .discarded: state.record.outcome = "discarded"
            case .failed(let error):
                state.record.outcome = "\(error.code)"
                state.record.error = LoadRecord.Failure(error)
            }
        }
        tellIfOver()
    }

    // MARK: Hops

    /// - Returns: the hop's number, for later calls.
    package func began(
        _ method: HTTPRequest.Method, _ url: RequestURL, by decision: RouteDecision?
    ) -> Int {
        began(method.rawValue, url.redacted, by: decision)
    }

    /// An attempt to open a stream.
    ///
    /// - Returns: the hop's number.
    package func began(_ endpoint: Endpoint, isSecure: Bool, by decision: RouteDecision?) -> Int {
        began("CONNECT", LoadRecord.url(endpoint, isSecure: isSecure), by: decision)
    }

    private func began(_ method: String, _ url: String, by decision: RouteDecision?) -> Int {
        let now = elapsed
        return state.withLock { state in
            var hop = LoadRecord.Hop(method: method, url: url, start: now.seconds)
            hop.route = decision.map { "\($0.route)" }
            hop.rule = decision.map { "\($0.rule)" }
            state.record.hops.append(hop)
            state.open.insert(state.record.hops.count - 1)
            return state.record.hops.count - 1
        }
    }

    package func answered(hop: Int, _ status: HTTPResponse.Status) {
        state.withLock { $0.record.hops[hop].status = status.code }
    }

    /// Only the first end of a hop counts.
    package func ended(hop: Int, _ report: ExchangeReport) {
        state.withLock { state in
            guard state.open.remove(hop) != nil else { return }
            state.record.hops[hop].take(report)
        }
        tellIfOver()
    }

    /// For a failure before there was anything to report.
    package func failed(hop: Int, _ error: LoadError) {
        let now = elapsed
        state.withLock { state in
            guard state.open.remove(hop) != nil else { return }
            state.record.hops[hop].end = now.seconds
            state.record.hops[hop].error = LoadRecord.Failure(error)
        }
        tellIfOver()
    }

    /// A discarded body ends its exchange on another thread; this waits for its report.
    private func tellIfOver() {
        let listeners = state.withLock { state in
            guard state.end != nil, state.open.isEmpty else { return [] as [@Sendable (LoadRecord) -> Void] }
            defer { state.listeners = [] }
            return state.listeners
        }
        guard !listeners.isEmpty else { return }
        let record = record
        for listener in listeners { listener(record) }
    }
}
