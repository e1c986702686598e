internal import Logging
internal import SallyportBase

/// Hands the access events of a relay to a control gateway, which enters them into its chain of the audit trail.
///
/// An actor for the batch that was sent and is not known to be in a store yet.
actor AuditCourier {
    /// Events gather for so long before they are sent.
    private static let gathering: Duration = .seconds(1)
    /// How long to wait after no gateway took them.
    private static let pause: Duration = .seconds(1)
    /// How long a relay that ends waits until its last events are taken.
    private static let farewell: Duration = .seconds(2)

    private let recorder: AuditRecorder
    private let clients: @Sendable () async -> [FeedClient]
    private let logger: Logger
    private var batches = AuditBatches()
    private var isFailing = false
    /// How many attempts have failed since the last that did not.
    private var failures = 0
    /// How often a gateway is tried before the next one: it may have the batch already, and knows that then, while the next
    /// one would enter it a second time.
    private static let attempts = 3

    /// - Parameter clients: of the control gateways, in the order in which they are to be tried.
    init(_ recorder: AuditRecorder, logger: Logger, to clients: @escaping @Sendable () async -> [FeedClient]) {
        (self.recorder, self.logger, self.clients) = (recorder, logger, clients)
    }

    /// Sends until the task is cancelled. ``finish()`` sends the rest.
    func run() async {
        for await _ in recorder.signals {
            try? await Task.sleep(for: Self.gathering)
            while !Task.isCancelled, await !deliver(to: nextClient()) { try? await Task.sleep(for: Self.pause) }
        }
    }

    /// Sends what is left, also if the task is cancelled. One attempt of two seconds at most: a relay ends even if no
    /// gateway can be reached.
    func finish() async {
        await Task {
            let end = ContinuousClock.now + Self.farewell
            _ = await untilDeadline(end) { await self.deliver(to: self.clients(), until: end) }
        }.value
        let (rest, lost, _) = recorder.take()
        let count = batches.count + rest.count + lost
        guard count > 0 else { return }
        logger.error(
            "Entries of the audit trail were taken by no control gateway and are lost.",
            metadata: ["count": "\(count)"])
    }

    private func nextClient() async -> [FeedClient] {
        let all = await clients()
        return all.isEmpty ? [] : [all[failures / Self.attempts % all.count]]
    }

    /// False if none of these gateways takes what waits now.
    ///
    /// - Parameter end: by when it is to be done; nil for the time that requests usually have.
    private func deliver(to clients: [FeedClient], until end: ContinuousClock.Instant? = nil) async -> Bool {
        guard next() != nil else { return true }
        for var client in clients where !Task.isCancelled {
            // For the connection, and for the answer.
            if let end { client.patience = max(.milliseconds(1), ContinuousClock.now.duration(to: end) / 2) }
            do {
                try await send(to: client)
                (isFailing, failures) = (false, 0)
                return true
            } catch {
                failures += 1
                tell(error, of: client)
            }
        }
        return false
    }

    private func send(to client: FeedClient) async throws {
        try await client.post(FeedAPI.audit) { () -> FeedBatch? in
            await self.next()
        } sent: { (_: FeedBatch, _: FeedBatchAnswer) in
            await self.taken()
        }
    }

    private func next() -> FeedBatch? { batches.next(from: recorder) }

    private func taken() { batches.taken() }

    private func tell(_ error: any Error, of client: FeedClient) {
        guard !Task.isCancelled else { return }
        // It is tried again every second.
        logger.log(
            level: isFailing ? .debug : .notice, "A control gateway does not take entries of the audit trail.",
            metadata: ["gateway": "\(client.address)", "error": "\(error)"])
        isFailing = true
    }
}
