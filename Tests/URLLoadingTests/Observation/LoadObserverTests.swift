import HTTPTypes
import InMemoryTracing
import MetricsTestKit
import SallyportBase
import SallyportCore
import SallyportLoading
import Testing
import Tracing

@testable import SallyportURLLoading

@Suite struct LoadObserverTests {
    private let metrics = TestMetrics()
    private let tracer = InMemoryTracer()

    private var observer: LoadObserver {
        LoadObserver(metrics: LoadMetrics(factory: metrics), tracer: tracer, instrument: tracer)
    }

    private func request() throws -> LoadRequest {
        try .get("https://a.example:8443/path?planted#planted", headerFields: [.authorization: "planted"])
    }

    /// A load of one hop that ends as the closure does.
    private func observe(
        _ end: LoadRecorder.End = .complete, _ report: ExchangeReport = ExchangeReport(),
        _ load: @Sendable (LoadRequest) async throws(LoadError) -> HTTPResponse.Status
    ) async throws {
        let request = try request()
        let recorder = LoadRecorder(request, id: 1)
        do throws(LoadError) {
            _ = try await observer.observe(request, by: recorder) { request throws(LoadError) in
                let hop = recorder.began(request.method, request.url, by: nil)
                recorder.ended(hop: hop, report)
                let status = try await load(request)
                return LoadResponse(head: HTTPResponse(status: status), url: request.url, body: ResponseBody())
            }
            recorder.answered(.ok)
            recorder.ended(end)
        } catch {
            recorder.ended(.failed(error))
        }
    }

    @Test func nothingIsObservedWhereNothingIsBootstrapped() { #expect(LoadObserver.bootstrapped() == nil) }

    @Test func anAnswerIsCountedTimedAndTraced() async throws {
        try await observe { request throws(LoadError) in
            #expect(request.headerFields.contains { $0.name.rawName.lowercased().contains("trace") })
            #expect(tracer.finishedSpans.isEmpty)
            return .ok
        }
        #expect(try metrics.expectCounter("sallyport_loads_total", [("outcome", "complete")]).totalValue == 1)
        #expect(try metrics.expectTimer("sallyport_load_head_seconds").values.count == 1)
        #expect(try metrics.expectTimer("sallyport_load_seconds").values.count == 1)
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.operationName == "GET" && span.kind == .client)
        #expect(span.attributes["http.response.status_code"]?.toSpanAttribute() == 200)
        #expect(span.attributes["server.port"]?.toSpanAttribute() == 8443)
        #expect(span.events.map(\.name) == ["sallyport.exchange"])
    }

    @Test func theSpanIsThereWhileItLoads() async throws {
        let context = Lock<ServiceContext?>(nil)
        try await observe { _ throws(LoadError) in
            context.withLock { $0 = .current }
            return .ok
        }
        let span = try #require(tracer.finishedSpans.first)
        #expect(context.withLock { $0?.inMemorySpanContext?.spanID } == span.spanID)
    }

    @Test func aFailureIsCountedByItsCode() async throws {
        try await observe { _ throws(LoadError) in throw LoadError(.cannotConnect, at: .connect, "") }
        #expect(try metrics.expectCounter("sallyport_loads_total", [("outcome", "cannotConnect")]).totalValue == 1)
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.attributes["error.type"]?.toSpanAttribute() == "cannotConnect@connect")
        #expect(span.status?.code == .error)
    }

    @Test func anUnreadBodyIsNoFailure() async throws {
        try await observe(.discarded) { _ throws(LoadError) in .ok }
        #expect(try metrics.expectCounter("sallyport_loads_total", [("outcome", "discarded")]).totalValue == 1)
        #expect(tracer.finishedSpans.first?.status == nil)
    }

    @Test func phasesAndBytesAreCounted() async throws {
        var report = ExchangeReport()
        report.timing.nameLookup = .milliseconds(1)
        report.timing.connect = .milliseconds(3)
        report.timing.secured = .milliseconds(7)
        report.timing.requestSent = .milliseconds(8)
        report.timing.firstByte = .milliseconds(16)
        report.end = .milliseconds(32)
        report.connection.httpVersion = "HTTP/2"
        report.connection.remoteAddress = "192.0.2.1"
        (report.sent.head, report.received.body) = (100, 1000)
        try await observe(.complete, report) { _ throws(LoadError) in .ok }
        for (phase, milliseconds) in [("name", 1), ("connect", 2), ("tls", 4), ("wait", 8), ("response", 16)] {
            let timer = try metrics.expectTimer("sallyport_phase_seconds", [("phase", phase)])
            #expect(timer.values == [Int64(milliseconds) * 1_000_000], "\(phase)")
        }
        #expect(try metrics.expectCounter("sallyport_sent_bytes_total").totalValue == 100)
        #expect(try metrics.expectCounter("sallyport_received_bytes_total").totalValue == 1000)
        let dimensions = [("way", "direct"), ("http", "HTTP/2"), ("reused", "false")]
        #expect(try metrics.expectCounter("sallyport_exchanges_total", dimensions).totalValue == 1)
    }

    @Test func cacheResultsAreCounted() throws {
        let recorder = LoadRecorder(try request(), id: 1)
        for result in ["hit", "hit", "miss"] { recorder.decided(.cache, result) }
        LoadMetrics(factory: metrics).record(recorder.record)
        #expect(try metrics.expectCounter("sallyport_cache_total", [("result", "hit")]).values.count == 2)
        #expect(try metrics.expectCounter("sallyport_cache_total", [("result", "miss")]).totalValue == 1)
    }

    @Test func spansShowNoSecret() async throws {
        try await observe { _ throws(LoadError) in .ok }
        #expect(!tracer.finishedSpans.isEmpty && !"\(tracer.finishedSpans)".contains("planted"))
    }
}
