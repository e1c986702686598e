/// Which recording is replayed for a request: each once, those of the same request in order.
struct ReplayTape: Sendable {
    private let exchanges: [RecordedExchange]
    /// For each request, the positions of the recordings that were not replayed yet.
    private var waiting: [RecordedRequest: ArraySlice<Int>]

    init(_ exchanges: [RecordedExchange]) {
        self.exchanges = exchanges
        waiting = Dictionary(grouping: exchanges.indices) { exchanges[$0].request }.mapValues { $0[...] }
    }

    var unused: [RecordedExchange] { waiting.values.joined().sorted().map { exchanges[$0] } }

    /// - Throws: `notRecorded`, with the request and the most similar recording.
    mutating func take(_ request: RecordedRequest) throws(CassetteError) -> RecordedExchange {
        guard let place = waiting[request]?.popFirst() else {
            throw CassetteError(.notRecorded, "\(request) was not recorded\(nearest(to: request)).")
        }
        return exchanges[place]
    }

    private func nearest(to request: RecordedRequest) -> String {
        let candidates = exchanges.enumerated().map { ($0.offset, $0.element.request.differences(from: request)) }
        guard let (place, differences) = candidates.min(by: { ($0.1.count, $0.0) < ($1.1.count, $1.0) }) else {
            return "; nothing was"
        }
        if differences.isEmpty { return " as often; all its recordings were played" }
        let list = differences.map { "another \($0)" }.joined(separator: " and ")
        return "; nearest is exchange \(place + 1), \(exchanges[place]), with \(list)"
    }
}
