internal import Metrics
internal import SallyportCore

/// `sallyport_loads_total` by outcome, and `sallyport_load_head_seconds`: the time to the head of the answer.
struct LoadMetrics: Sendable {
    private let factory: any MetricsFactory
    private let answered: Counter
    private let timer: Timer

    private static let loads = "sallyport_loads_total"

    init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        answered = Counter(label: Self.loads, dimensions: [("outcome", "answered")], factory: factory)
        timer = Timer(label: "sallyport_load_head_seconds", factory: factory)
    }

    func record(_ result: Result<LoadResponse, LoadError>, after elapsed: Duration) {
        timer.record(duration: elapsed)
        switch result {
        case .success: answered.increment()
        case .failure(let error):
            // The codes are few, so that the dimension stays bounded.
            Counter(label: Self.loads, dimensions: [("outcome", "\(error.code)")], factory: factory).increment()
        }
    }
}
