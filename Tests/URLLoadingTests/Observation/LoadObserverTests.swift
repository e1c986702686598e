import HTTPTypes
import InMemoryTracing
import MetricsTestKit
import SallyportCore
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

    @Test func nothingIsObservedWhereNothingIsBootstrapped() { #expect(LoadObserver.bootstrapped() == nil) }

    @Test func anAnswerIsCountedTimedAndTraced() async throws {
        let response = try await observer.observe(request()) { request throws(LoadError) in
            #expect(request.headerFields.contains { $0.name.rawName.lowercased().contains("trace") })
            return LoadResponse(head: HTTPResponse(status: .notFound), url: request.url, body: ResponseBody())
        }
        #expect(response.head.status == .notFound)
        #expect(try metrics.expectCounter("sallyport_loads_total", [("outcome", "answered")]).totalValue == 1)
        #expect(try metrics.expectTimer("sallyport_load_head_seconds").values.count == 1)
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.operationName == "GET" && span.kind == .client)
        #expect(span.attributes["http.response.status_code"]?.toSpanAttribute() == 404)
        #expect(span.attributes["server.port"]?.toSpanAttribute() == 8443)
    }

    @Test func aFailureIsCountedByItsCode() async throws {
        await #expect(throws: LoadError(.cannotConnect, "")) {
            try await observer.observe(request()) { _ throws(LoadError) in
                throw LoadError(.cannotConnect, at: .connect, "")
            }
        }
        #expect(try metrics.expectCounter("sallyport_loads_total", [("outcome", "cannotConnect")]).totalValue == 1)
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.attributes["error.type"]?.toSpanAttribute() == "cannotConnect@connect")
    }

    @Test func spansShowNoSecret() async throws {
        _ = try await observer.observe(request()) { request throws(LoadError) in
            LoadResponse(head: HTTPResponse(status: .ok), url: request.url, body: ResponseBody())
        }
        #expect(!"\(tracer.finishedSpans)".contains("planted"))
    }
}
