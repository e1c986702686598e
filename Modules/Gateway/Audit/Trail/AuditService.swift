internal import Foundation
internal import Logging

/// The audit trail of a running gateway: what takes access events, what writes them, and where entries are told.
struct AuditService: Sendable {
    let recorder: AuditRecorder
    /// Those of relays on machines of their own.
    let relays: RelayTrails
    private let data: GatewayData
    private let trail: AuditTrail
    private let outlets: AuditOutlets
    private let logger: Logger

    /// - Throws: `fileSystem` if a log or a syslog socket cannot be opened.
    init(_ data: GatewayData, _ configuration: Gateway.Configuration, logger: Logger) async throws {
        let name = await data.name
        recorder = AuditRecorder(clock: data.clock)
        let outlets = try AuditOutlets(configuration, host: name, logger: logger)
        trail = AuditTrail(recorder, data, at: name, to: outlets, logger: logger)
        relays = RelayTrails(data, at: name, to: outlets, logger: logger)
        self.outlets = outlets
        (self.data, self.logger) = (data, logger)
    }

    /// Writes until the task is cancelled; ``finish()`` writes the rest.
    func run() async {
        let told = await data.store.audited()
        await withDiscardingTaskGroup { group in
            group.addTask { await trail.run() }
            group.addTask { await relays.run() }
            group.addTask { for await entry in told { outlets.tell([entry]) } }
        }
    }

    /// Tells the sinks, until ``finish()`` was called and they have everything.
    func tell() async { await outlets.run() }

    /// Removes what is beyond the limits, and signs a checkpoint if there are entries since the last.
    func upkeep() async {
        do { try await data.keepAudit() } catch {
            logger.error(
                "The audit trail's checkpoint cannot be made.",
                metadata: ["error": "\(GatewayError(error).message)"])
        }
    }

    /// Writes what is left and signs a checkpoint, also if the task is cancelled.
    func finish() async {
        await relays.finish()
        await trail.finish()
        await Task { await upkeep() }.value
        outlets.finish()
    }
}
