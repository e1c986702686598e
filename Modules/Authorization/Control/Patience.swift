/// How long questions to the gateway may take, all of them together.
struct Patience: Sendable {
    let end: ContinuousClock.Instant

    init(_ limit: Duration) { end = .now + limit }

    /// What is left, and at least a second: a question that is asked at all has a chance to be answered.
    var rest: Duration { max(end - .now, .seconds(1)) }

    /// Whether there is time to wait for so long.
    func allows(_ wait: Duration) -> Bool { .now + wait <= end }
}
