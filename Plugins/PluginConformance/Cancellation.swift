/// Cancels a load before its start, after its head, after each chunk and at its end.
struct Cancellation {
    let sample: SampleRequest
    /// The result of the load without cancellation.
    let plain: Recorder.Snapshot
    let trials: Trials

    func check() async {
        for point in points {
            let recorder = await trials.start(sample, cancelAfter: point)
            // A load that does not end is given up; the following points would only take the same time.
            guard let seen = await trials.end(of: recorder, sample) else { return }
            check(seen, at: point)
        }
    }

    /// All events, or as many as are tried, spread over the load.
    private var points: [Int] {
        let limit = PluginConformance.cancellationPoints
        guard plain.events > limit else { return Array(0...plain.events) }
        return (0...limit).map { $0 * plain.events / limit }
    }

    private func check(_ seen: Recorder.Snapshot, at point: Int) {
        let place = point == 0 ? "before the start" : point == 1 ? "after the head" : "after \(point - 1) chunks"
        switch seen.ending {
        case .untyped(let type):
            trials.ledger.add(.typedErrors, sample.name, "Cancelled \(place), the handler threw a \(type).")
        case .whole where seen.bytes.count < plain.bytes.count || (seen.head == nil && plain.head != nil):
            trials.ledger.add(
                .tellsOfTruncation, sample.name,
                "Cancelled \(place), the handler returned as if all \(plain.bytes.count) bytes had been written.")
        default: break
        }
    }
}
