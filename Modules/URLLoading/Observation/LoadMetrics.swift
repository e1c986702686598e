internal import Metrics
internal import SallyportCore

/// `sallyport_loads_total` by outcome, and `sallyport_load_head_seconds`: the time to the head of the answer.
struct LoadMetrics: Sendable {
    private let answered = Counter(label: Self.loads, dimensions: [("outcome", "answered")])
    private let timer = Timer(label: "sallyport_load_head_seconds")

    private static let loads = "sallyport_loads_total"

    func record(_ result: Result<LoadResponse, LoadError>, after elapsed: Duration) {
        timer.record(duration: elapsed)
        switch result {
        case .success: answered.increment()
        case .failure(let error):
            // The codes are few, so that the dimension stays bounded.
            Counter(label: Self.loads, dimensions: [("outcome", "\(error.code)")]).increment()
        }
    }
}
