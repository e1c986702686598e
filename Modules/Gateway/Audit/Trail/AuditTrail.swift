internal import Foundation
internal import Logging
internal import SallyportWire

/// Writes access events into a chain of the gateway's, in batches, and tells the outlets: its own events, or those that
/// a relay on a machine of its own has told.
///
/// An actor for the entries that were given their place and are not known to be in the store yet: a batch whose
/// transaction was not answered is given again unchanged, so that it stands in the chain once.
actor AuditTrail {
    /// Events gather for so long before they are written.
    private static let gathering: Duration = .milliseconds(200)
    /// How long to wait after a failure.
    private static let pause: Duration = .seconds(1)

    private let recorder: AuditRecorder
    private let data: GatewayData
    private let outlets: AuditOutlets
    private let logger: Logger
    private let name: AuditChainName
    private let gateway: String
    /// Whether the begin and the end of the gateway are events of this chain.
    private let isOwn: Bool
    /// Nil until the chain's end was read.
    private var chain: AuditChain?
    private var unwritten: [AuditEntry] = []
    private var events: [AuditEvent] = []
    /// How many events the recorder had got with these.
    private var count: Int64 = 0
    private var start = AuditHead.empty
    private var isFailing = false

    /// - Parameters:
    ///   - relay: whose events these are; nil for the gateway's own.
    ///   - gateway: its name.
    init(
        _ recorder: AuditRecorder, _ data: GatewayData, of relay: RelayIdentifier? = nil, at gateway: String,
        to outlets: AuditOutlets, logger: Logger
    ) {
        (self.recorder, self.data, self.outlets, self.logger) = (recorder, data, outlets, logger)
        (name, self.gateway, isOwn) = (relay.map(data.accessChain.of) ?? data.accessChain, gateway, relay == nil)
    }

    /// Writes until the task is cancelled. ``finish()`` writes the rest.
    func run() async {
        if isOwn { recorder.note(recorder.event(.start, by: .gateway, outcome: "done")) }
        for await _ in recorder.signals {
            try? await Task.sleep(for: Self.gathering)
            while await !write(), !Task.isCancelled { try? await Task.sleep(for: Self.pause) }
        }
    }

    /// Writes what is left, the end of the gateway among it, also if the task is cancelled. One attempt: a gateway ends
    /// even if its store cannot be written.
    func finish() async {
        if isOwn { recorder.note(recorder.event(.stop, by: .gateway, outcome: "done")) }
        await Task { await writeLast() }.value
    }

    private func writeLast() async {
        // What came before a failure is written first, and then the rest.
        if await write(), await write() { return }
        let (rest, lost, _) = recorder.take()
        logger.error(
            "Entries of the audit trail could not be written and are lost.",
            metadata: ["count": "\(unwritten.count + rest.count + lost)"])
    }

    /// False if the store cannot be written now.
    private func write() async -> Bool {
        do {
            if events.isEmpty { await take() }
            guard !events.isEmpty else { return true }
            if unwritten.isEmpty { try await place() }
            while try await !data.store.append(unwritten, of: name, after: start) {
                // Another process has written to this chain, whose data folder was copied.
                chain = nil
                try await place()
            }
        } catch {
            if !isFailing {
                logger.error(
                    "The audit trail cannot be written.", metadata: ["error": "\(GatewayError(error).message)"])
            }
            isFailing = true
            return false
        }
        isFailing = false
        outlets.tell(unwritten)
        (unwritten, events) = ([], [])
        recorder.wrote(count)
        return true
    }

    private func take() async {
        var (taken, lost, count) = recorder.take()
        guard !taken.isEmpty || lost > 0 else { return }
        self.count = count
        if lost > 0 {
            var event = recorder.event(.lost, by: .gateway, outcome: "lost")
            event[number: .count] = Int64(lost)
            taken.append(event)
        }
        let policy = await data.currentState().value.policy
        events = taken.map { completed($0, by: policy) }
    }

    /// With what the event loops did not look up.
    private func completed(_ event: AuditEvent, by policy: RelaySnapshot) -> AuditEvent {
        var event = event
        event[.gateway] = gateway
        guard let id = event[.instance].flatMap(InstanceIdentifier.init), let record = policy.record(of: id) else {
            return event
        }
        (event[.user], event[.entitlement]) = (record.user, record.name.entitlement.description)
        return event
    }

    /// Gives the events their places at the end of the chain.
    private func place() async throws {
        var chain: AuditChain
        if let known = self.chain {
            chain = known
        } else {
            chain = AuditChain(name, after: try await data.store.auditHeads()[name] ?? .empty)
        }
        start = chain.head
        unwritten = events.map { chain.append($0) }
        self.chain = chain
    }
}
