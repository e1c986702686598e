/// The text of all metrics.
actor MetricsPage {
    /// How long the text is given again, so that many scrapes at once cost one reading.
    static let memory: Duration = .milliseconds(500)

    private let registry: PrometheusRegistry
    private let gauges: any Gauges
    private var last: (text: String, at: ContinuousClock.Instant)?

    init(_ registry: PrometheusRegistry, _ gauges: any Gauges) {
        (self.registry, self.gauges) = (registry, gauges)
    }

    func text() async -> String {
        if let last, last.at.duration(to: .now) < Self.memory { return last.text }
        await gauges.refresh()
        let text = registry.text()
        last = (text, .now)
        return text
    }
}
