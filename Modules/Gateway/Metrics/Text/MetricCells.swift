internal import Metrics
internal import Synchronization

/// The figures of one metric with certain labels.
protocol MetricCell: AnyObject, Sendable {
    static var kind: MetricKind { get }
    init()
    /// The present figures: what follows the metric's name, a further label, and the value.
    var samples: [(suffix: String, label: String?, value: Double)] { get }
}

/// Counts up, from any thread and without a lock.
final class CounterCell: CounterHandler, MetricCell {
    static let kind = MetricKind.counter
    private let count = Atomic<Int64>(0)

    func increment(by amount: Int64) {
        // A counter never goes down.
        guard amount > 0 else { return }
        count.wrappingAdd(amount, ordering: .relaxed)
    }

    func reset() { count.store(0, ordering: .relaxed) }

    var value: Int64 { count.load(ordering: .relaxed) }
    var samples: [(suffix: String, label: String?, value: Double)] { [("", nil, Double(value))] }
}

/// Counts up by fractions.
final class FloatingPointCounterCell: FloatingPointCounterHandler, MetricCell {
    static let kind = MetricKind.counter
    private let sum = GaugeCell()

    func increment(by amount: Double) {
        guard amount > 0 else { return }
        sum.increment(by: amount)
    }

    func reset() { sum.set(0.0) }

    var samples: [(suffix: String, label: String?, value: Double)] { sum.samples }
}

/// Has one value, which goes up and down.
final class GaugeCell: MeterHandler, RecorderHandler, MetricCell {
    static let kind = MetricKind.gauge
    /// Swift has no atomic `Double`.
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
    func decrement(by amount: Double) { increment(by: -amount) }

    func increment(by amount: Double) {
        var known = bits.load(ordering: .relaxed)
        while true {
            let (isExchanged, original) = bits.weakCompareExchange(
                expected: known, desired: (Double(bitPattern: known) + amount).bitPattern, ordering: .relaxed)
            if isExchanged { return }
            known = original
        }
    }

    var samples: [(suffix: String, label: String?, value: Double)] { [("", nil, value)] }
}

/// How many values lie below each of some limits; times are in seconds.
final class HistogramCell: TimerHandler, RecorderHandler, MetricCell {
    static let kind = MetricKind.histogram
    /// From a millisecond to the ten seconds that a dial may take.
    static let limits = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    /// The values of each bucket alone; the last bucket has no limit.
    private let buckets: [CounterCell]
    private let sum = GaugeCell()

    init() { buckets = (0...Self.limits.count).map { _ in CounterCell() } }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        // A value that is no number would make the sum no number for good.
        guard !value.isNaN else { return }
        buckets[Self.limits.firstIndex { value <= $0 } ?? Self.limits.count].increment(by: 1)
        sum.increment(by: value)
    }

    /// The count is the sum of the buckets as they were read, so that it always agrees with the last one.
    var samples: [(suffix: String, label: String?, value: Double)] {
        var count = 0.0
        var samples: [(suffix: String, label: String?, value: Double)] = []
        for (limit, bucket) in zip(Self.limits + [.infinity], buckets) {
            count += Double(bucket.value)
            samples.append(("_bucket", "le=\"\(MetricsText.number(limit))\"", count))
        }
        return samples + [("_sum", nil, sum.value), ("_count", nil, count)]
    }
}
