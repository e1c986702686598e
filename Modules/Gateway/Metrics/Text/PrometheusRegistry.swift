internal import Metrics
internal import SallyportBase

/// A factory of swift-metrics, with the text of all that was measured through it, for Prometheus.
///
/// A lock and no actor: `MetricsFactory` is synchronous. It is taken when a metric is made and when the text is made;
/// the metrics themselves are atomics.
final class PrometheusRegistry: MetricsFactory {
    private struct Family {
        let kind: MetricKind
        /// By labels.
        var series: [String: any MetricCell] = [:]
    }

    /// The most series of one name. What comes in addition is measured and not shown, so that a label with too many
    /// values does not take up the memory.
    static let seriesLimit = 1000

    private let families = Lock<[String: Family]>([:])
    /// The texts of help, by name; nil if every metric is shown, without one.
    private let help: [String: String]?

    /// - Parameter metrics: those that are shown; nil for all that are measured.
    init(metrics: [MetricDescription]? = nil) {
        help = metrics.map { Dictionary($0.map { ($0.name, $0.help) }) { first, _ in first } }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        cell(CounterCell.self, label, dimensions)
    }

    func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        cell(FloatingPointCounterCell.self, label, dimensions)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        cell(GaugeCell.self, label, dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        if aggregate { cell(HistogramCell.self, label, dimensions) } else { cell(GaugeCell.self, label, dimensions) }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        cell(HistogramCell.self, label, dimensions)
    }

    // A counter that disappears would look like a restart: what was measured stays.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    /// The series of a name and its labels: the same one each time. One that cannot be shown, because its name has
    /// another kind or too many series already, or is none of those shown here, is the caller's alone.
    private func cell<Cell: MetricCell>(
        _ type: Cell.Type, _ label: String, _ dimensions: [(String, String)]
    ) -> Cell {
        let name = MetricsText.name(label, Cell.kind)
        let labels = MetricsText.labels(dimensions)
        if let help, help[name] == nil { return Cell() }
        return families.withLock { families in
            var family = families[name] ?? Family(kind: Cell.kind)
            if let known = family.series[labels] as? Cell { return known }
            let made = Cell()
            guard family.kind == Cell.kind, family.series[labels] == nil, family.series.count < Self.seriesLimit else {
                return made
            }
            family.series[labels] = made
            families[name] = family
            return made
        }
    }

    /// Everything, sorted by name and labels.
    func text() -> String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            if let help = help?[name] { text += "# HELP \(name) \(MetricsText.escaped(help, quotes: false))\n" }
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, cell) in family.series.sorted(by: { $0.key < $1.key }) {
                for sample in cell.samples {
                    let all = [labels, sample.label ?? ""].filter { !$0.isEmpty }.joined(separator: ",")
                    text += name + sample.suffix + (all.isEmpty ? "" : "{\(all)}")
                    text += " \(MetricsText.number(sample.value))\n"
                }
            }
        }
        return text
    }
}
