internal import HTTPTypes
internal import Instrumentation
internal import Metrics
internal import SallyportCore
internal import SallyportLoading
internal import Tracing

/// Metrics and a span for each load; there is none if neither system is bootstrapped, so that it costs nothing.
///
/// A session looks once, when it is made: bootstrap before.
struct LoadObserver: Sendable {
    let metrics: LoadMetrics?
    let tracer: (any Tracer)?
    /// Puts the span's context into requests; more than the tracer where several instruments are bootstrapped.
    let instrument: any Instrument

    static func bootstrapped() -> LoadObserver? {
        let metrics = MetricsSystem.factory is NOOPMetricsHandler ? nil : LoadMetrics()
        let tracer = InstrumentationSystem.tracer is NoOpTracer ? nil : InstrumentationSystem.tracer
        guard metrics != nil || tracer != nil else { return nil }
        return LoadObserver(metrics: metrics, tracer: tracer, instrument: InstrumentationSystem.instrument)
    }

    /// Loads within a span, which lasts until the record ends: that of the body, not of the head.
    func observe(
        _ request: LoadRequest, by recorder: LoadRecorder,
        _ load: (LoadRequest) async throws(LoadError) -> LoadResponse
    ) async throws(LoadError) -> LoadResponse {
        if let metrics { recorder.whenEnded { metrics.record($0) } }
        guard let tracer else { return try await load(request) }
        let start = DefaultTracerClock.now
        let span = tracer.startSpan(request.method.rawValue, ofKind: .client, at: start)
        span.describe(request)
        recorder.whenEnded { record in
            span.describe(record, since: start.nanosecondsSinceEpoch)
            span.end()
        }
        var request = request
        instrument.inject(span.context, into: &request.headerFields, using: FieldInjector())
        return try await InstrumentationContext.withValue(span.context) { await Result(load, request) }.get()
    }
}

extension Result where Success == LoadResponse, Failure == LoadError {
    fileprivate init(
        _ load: (LoadRequest) async throws(LoadError) -> LoadResponse, _ request: LoadRequest
    ) async {
        do throws(LoadError) {
            self = .success(try await load(request))
        } catch {
            self = .failure(error)
        }
    }
}

/// Puts a trace's context into header fields.
private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        guard let name = HTTPField.Name(key), HTTPField.isValidValue(value) else { return }
        fields[name] = value
    }
}
