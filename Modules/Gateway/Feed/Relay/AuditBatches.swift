/// The access events of a relay in batches, of which control gateways are given one after the other. A value without
/// I/O.
///
/// Bounded: while no gateway takes a batch, further events wait in the recorder, which loses what is beyond its limit,
/// and counts it. What was taken from the recorder before comes on top of that: one such limit at most.
struct AuditBatches: Sendable {
    private let process = String(UInt64.random(in: .min ... .max), radix: 16)
    private var number: Int64 = 0
    private var waiting: ArraySlice<AuditEvent> = []
    private var lost = 0
    /// The batch that no gateway is known to have.
    private var unsettled: FeedBatch?

    /// How many events were taken from the recorder, and are not known to be anywhere else.
    var count: Int { waiting.count + (unsettled.map { $0.events.count + $0.lost } ?? 0) }

    /// The batch to send now: the same one, until a gateway has it. Nil if nothing waits.
    mutating func next(from recorder: AuditRecorder) -> FeedBatch? {
        if let unsettled { return unsettled }
        if waiting.isEmpty {
            let (events, lost, _) = recorder.take()
            (waiting, self.lost) = (events[...], lost)
        }
        guard !waiting.isEmpty || lost > 0 else { return nil }
        number += 1
        let batch = FeedBatch(
            process: process, number: number, lost: lost,
            events: waiting.prefix(FeedBatch.eventLimit).compactMap(FeedBatch.told))
        (waiting, lost, unsettled) = (waiting.dropFirst(FeedBatch.eventLimit), 0, batch)
        return batch
    }

    /// A gateway has the batch.
    mutating func taken() { unsettled = nil }
}
