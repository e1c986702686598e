internal import Foundation
internal import SallyportBase
internal import ServiceLifecycle

/// Enters what relays on machines of their own tell of access into this gateway's chain of the audit trail.
///
/// An actor for the newest batch of each relay, by which one that comes again is known.
actor RelayTrails {
    private struct Entered {
        let process: String
        let number: Int64
        /// As ``AuditRecorder/isWritten(_:)`` takes it.
        let count: Int64
    }

    private let recorder: AuditRecorder
    private var newest: [RelayIdentifier: Entered] = [:]

    init(_ recorder: AuditRecorder) { self.recorder = recorder }

    /// Returns once the events of a batch are in the store.
    ///
    /// - Throws: `invalid` for what no relay sends; `unreachable` if the store does not take the events while the relay
    ///   waits for the answer, or if too many wait for it already. The relay sends the batch again.
    func enter(_ batch: FeedBatch, of relay: RelayRecord, at now: Date) async throws(GatewayError) {
        let count = try count(of: batch, relay, at: now)
        let recorder = recorder
        let isWritten = await cancelWhenGracefulShutdown {
            await untilDeadline(.now + FeedAPI.silence) { await recorder.isWritten(count) } ?? false
        }
        guard isWritten else { throw GatewayError(.unreachable, "The audit trail cannot be written now.") }
    }

    private func count(of batch: FeedBatch, _ relay: RelayRecord, at now: Date) throws(GatewayError) -> Int64 {
        if let entered = newest[relay.id], entered.process == batch.process, batch.number <= entered.number {
            return entered.count
        }
        let entries = try batch.entries(of: relay.name, at: now)
        guard let count = recorder.enter(entries) else {
            throw GatewayError(.unreachable, "Too many events wait for the audit trail.")
        }
        newest[relay.id] = Entered(process: batch.process, number: batch.number, count: count)
        return count
    }
}
