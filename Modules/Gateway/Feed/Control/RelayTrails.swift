internal import Foundation
internal import Logging
internal import SallyportBase
internal import ServiceLifecycle

/// Enters what relays on machines of their own tell of access into the audit trail, each into a chain of its own.
///
/// An actor for the newest batch of each relay, by which one that comes again is known.
actor RelayTrails {
    /// How long a relay waits until its events are in the store; it gives the answer up after ``FeedAPI/silence``.
    private static let patience: Duration = .milliseconds(1200)

    private struct Entered {
        let process: String
        let number: Int64
        /// As ``AuditRecorder/isWritten(_:)`` takes it.
        let count: Int64
    }

    private struct Told {
        let recorder: AuditRecorder
        let trail: AuditTrail
        var newest: Entered?
    }

    private let data: GatewayData
    private let gateway: String
    private let outlets: AuditOutlets
    private let logger: Logger
    private var relays: [RelayIdentifier: Told] = [:]
    private let (begun, begin) = AsyncStream.makeStream(of: AuditTrail.self)

    init(_ data: GatewayData, at gateway: String, to outlets: AuditOutlets, logger: Logger) {
        (self.data, self.gateway, self.outlets, self.logger) = (data, gateway, outlets, logger)
    }

    /// Writes until the task is cancelled. ``finish()`` writes the rest.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await trail in begun { group.addTask { await trail.run() } }
        }
    }

    /// Writes what is left, also if the task is cancelled.
    func finish() async {
        let trails = relays.values.map(\.trail)
        // Beside each other: a store that is away takes its time with each.
        await withDiscardingTaskGroup { group in
            for trail in trails { group.addTask { await trail.finish() } }
        }
    }

    /// Returns once the events of a batch are in the store.
    ///
    /// - Throws: `invalid` for what no relay sends; `unreachable` if the store does not take the events while the relay
    ///   waits for the answer, or if too many wait for it already. The relay sends the batch again.
    func enter(_ batch: FeedBatch, of relay: RelayRecord, at now: Date) async throws(GatewayError) {
        let told = relays[relay.id] ?? begins(relay.id)
        let count = try count(of: batch, told, relay, at: now)
        let isWritten = await cancelWhenGracefulShutdown {
            await untilDeadline(.now + Self.patience) { await told.recorder.isWritten(count) } ?? false
        }
        guard isWritten else { throw GatewayError(.unreachable, "The audit trail cannot be written now.") }
    }

    private func begins(_ relay: RelayIdentifier) -> Told {
        let recorder = AuditRecorder(clock: data.clock)
        let trail = AuditTrail(recorder, data, of: relay, at: gateway, to: outlets, logger: logger)
        let told = Told(recorder: recorder, trail: trail)
        relays[relay] = told
        begin.yield(trail)
        return told
    }

    private func count(
        of batch: FeedBatch, _ told: Told, _ relay: RelayRecord, at now: Date
    ) throws(GatewayError) -> Int64 {
        if let entered = told.newest, entered.process == batch.process, batch.number <= entered.number {
            return entered.count
        }
        let entries = try batch.entries(of: relay.name, at: now)
        guard let count = told.recorder.enter(entries) else {
            throw GatewayError(.unreachable, "Too many events wait for the audit trail.")
        }
        relays[relay.id]?.newest = Entered(process: batch.process, number: batch.number, count: count)
        return count
    }
}
