internal import Metrics

/// What Docs/Observability.md lists of doors. The dimensions are bounded: forms, and names of ends.
struct DoorMetrics: Sendable {
    private let factory: any MetricsFactory
    private let sent: Counter
    private let received: Counter

    init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        sent = Counter(label: "sallyport_door_sent_bytes_total", factory: factory)
        received = Counter(label: "sallyport_door_received_bytes_total", factory: factory)
    }

    func record(_ record: DoorRecord) {
        Counter(
            label: "sallyport_door_connections_total",
            dimensions: [("form", record.form ?? "none"), ("end", record.end)], factory: factory
        ).increment()
        sent.increment(by: record.sent)
        received.increment(by: record.received)
    }
}
