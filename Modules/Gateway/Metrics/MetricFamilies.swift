internal import Metrics

/// The counters of one metric, all of them made at the start: a rate needs the zero before the first event.
struct CounterFamily: Sendable {
    private let metric: MetricDescription
    private let factory: any MetricsFactory
    private let known: [[String]: Counter]

    init(_ metric: MetricDescription, _ factory: any MetricsFactory) {
        (self.metric, self.factory) = (metric, factory)
        known = Dictionary(
            uniqueKeysWithValues: metric.combinations.map { values in
                (values, Counter(label: metric.name, dimensions: metric.dimensions(values), factory: factory))
            })
    }

    /// - Parameter values: of the labels, in their order. They are codes of the gateway's, never what a peer has sent.
    func add(_ amount: Int = 1, _ values: String...) {
        guard amount > 0 else { return }
        if let counter = known[values] { return counter.increment(by: amount) }
        Counter(label: metric.name, dimensions: metric.dimensions(values), factory: factory).increment(by: amount)
    }
}

/// The gauges of one metric.
struct MeterFamily: Sendable {
    private let known: [[String]: Meter]

    init(_ metric: MetricDescription, _ factory: any MetricsFactory) {
        known = Dictionary(
            uniqueKeysWithValues: metric.combinations.map { values in
                (values, Meter(label: metric.name, dimensions: metric.dimensions(values), factory: factory))
            })
    }

    func set(_ value: Double, _ values: String...) { known[values]?.set(value) }
    func set(_ value: Int, _ values: String...) { known[values]?.set(Double(value)) }
}

/// The histograms of one metric, in seconds.
struct TimerFamily: Sendable {
    private let known: [[String]: Timer]

    init(_ metric: MetricDescription, _ factory: any MetricsFactory) {
        known = Dictionary(
            uniqueKeysWithValues: metric.combinations.map { values in
                (values, Timer(label: metric.name, dimensions: metric.dimensions(values), factory: factory))
            })
    }

    func record(since start: ContinuousClock.Instant, _ values: String...) {
        known[values]?.record(duration: start.duration(to: .now))
    }
}
