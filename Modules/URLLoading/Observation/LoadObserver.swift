internal import HTTPTypes
internal import Instrumentation
internal import Metrics
internal import SallyportCore
internal import Tracing

/// Metrics and a span for each load; there is none where neither system is bootstrapped, so that it costs nothing.
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

    func observe(
        _ request: LoadRequest, _ load: (LoadRequest) async throws(LoadError) -> LoadResponse
    ) async throws(LoadError) -> LoadResponse {
        let start = ContinuousClock.now
        let result = await traced(request, load)
        metrics?.record(result, after: start.duration(to: .now))
        return try result.get()
    }

    private func traced(
        _ request: LoadRequest, _ load: (LoadRequest) async throws(LoadError) -> LoadResponse
    ) async -> Result<LoadResponse, LoadError> {
        guard let tracer else { return await Result(load, request) }
        return await tracer.withAnySpan(request.method.rawValue, ofKind: .client) { span in
            var request = request
            instrument.inject(span.context, into: &request.headerFields, using: FieldInjector())
            let result = await Result(load, request)
            span.describe(request, result)
            return result
        }
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

extension Span {
    /// The attributes of OpenTelemetry's HTTP client spans, without what may be secret.
    fileprivate func describe(_ request: LoadRequest, _ result: Result<LoadResponse, LoadError>) {
        updateAttributes { attributes in
            attributes["http.request.method"] = request.method.rawValue
            attributes["url.full"] = request.url.redacted
            attributes["server.address"] = request.url.endpoint?.host.bareText
            attributes["server.port"] = (request.url.endpoint?.port).map { Int($0) }
        }
        switch result {
        case .success(let response):
            updateAttributes { attributes in
                attributes["http.response.status_code"] = response.head.status.code
                attributes["sallyport.route"] = response.facts.decision.map { "\($0.route)" }
            }
        case .failure(let error):
            updateAttributes { $0["error.type"] = error.shortDescription }
            setStatus(SpanStatus(code: .error, message: error.shortDescription))
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
