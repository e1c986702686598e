internal import Glibc
internal import Metrics

/// The processor time of this process, as a counter.
final class ProcessorTime: Sendable {
    private let counter: FloatingPointCounter
    private let told = GaugeCell()

    init(_ factory: any MetricsFactory) {
        counter = FloatingPointCounter(label: MetricDescription.processorTime.name, factory: factory)
    }

    func refresh() {
        let ticks = clock()
        guard ticks >= 0 else { return }
        // POSIX demands this number of ticks a second.
        let now = Double(ticks) / 1_000_000
        counter.increment(by: now - told.value)
        told.set(now)
    }
}
