internal import Metrics
internal import SallyportLoading

/// What Docs/Observability.md lists under metrics. Every dimension is bounded: codes, phases, versions, kinds.
struct LoadMetrics: Sendable {
    private let factory: any MetricsFactory
    private let complete: Counter
    private let head: Timer
    private let whole: Timer
    private let sent: Counter
    private let received: Counter
    private let decoded: Counter

    init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        complete = Counter(label: "sallyport_loads_total", dimensions: [("outcome", "complete")], factory: factory)
        head = Timer(label: "sallyport_load_head_seconds", factory: factory)
        whole = Timer(label: "sallyport_load_seconds", factory: factory)
        sent = Counter(label: "sallyport_sent_bytes_total", factory: factory)
        received = Counter(label: "sallyport_received_bytes_total", factory: factory)
        decoded = Counter(label: "sallyport_body_bytes_total", factory: factory)
    }

    func record(_ record: LoadRecord) {
        if record.outcome == "complete" {
            complete.increment()
        } else {
            count("sallyport_loads_total", ("outcome", record.outcome))
        }
        whole.record(duration: .seconds(record.duration))
        if let time = record.head { head.record(duration: .seconds(time)) }
        if record.bodyBytes > 0 { decoded.increment(by: record.bodyBytes) }
        for hop in record.hops { self.record(hop) }
        for decision in record.decisions { self.record(decision) }
    }

    private func record(_ hop: LoadRecord.Hop) {
        sent.increment(by: hop.sent.head + hop.sent.body)
        received.increment(by: hop.received.head + hop.received.body)
        count(
            "sallyport_exchanges_total", ("way", way(of: hop)), ("http", hop.connection.http ?? "none"),
            ("reused", "\(hop.connection.isReused)"))
        for (name, time) in hop.phases.named {
            Timer(label: "sallyport_phase_seconds", dimensions: [("phase", name)], factory: factory)
                .record(duration: .seconds(time))
        }
    }

    private func way(of hop: LoadRecord.Hop) -> String {
        if hop.connection.relay != nil || hop.route?.hasPrefix("relay") == true { return "relay" }
        return hop.connection.proxy == nil ? "direct" : "proxy"
    }

    private func record(_ decision: LoadRecord.Decision) {
        switch decision.kind {
        case .redirect: count("sallyport_redirects_total")
        case .retry: count("sallyport_retries_total", ("code", decision.value))
        case .authentication: count("sallyport_challenges_total", ("scheme", decision.value))
        case .cache: count("sallyport_cache_total", ("result", decision.value))
        case .cookies, .name, .route, .withheld: break
        }
    }

    private func count(_ label: String, _ dimensions: (String, String)...) {
        Counter(label: label, dimensions: dimensions, factory: factory).increment()
    }
}
