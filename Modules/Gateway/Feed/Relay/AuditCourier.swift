internal import Logging
internal import SallyportBase

/// Hands the access events of a relay to a control gateway, which enters them into the audit trail.
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
    /// The gateway that was asked last and has not taken the batch. It may have it all the same, and knows it then, while
    /// another one would enter it a second time.
    private var asked: (client: FeedClient, failures: Int)?
    /// How often a gateway is asked before another one.
    private static let attempts = 3

    /// - Parameter clients: of the control gateways, in the order in which they are to be tried.
    init(_ recorder: AuditRecorder, logger: Logger, to clients: @escaping @Sendable () async -> [FeedClient]) {
        (self.recorder, self.logger, self.clients) = (recorder, logger, clients)
    }

    /// Sends until the task is cancelled. ``finish()`` sends the rest.
    func run() async {
        for await _ in recorder.signals {
            try? await Task.sleep(for: Self.gathering)
            while !Task.isCancelled, await !deliverToOne() { try? await Task.sleep(for: Self.pause) }
        }
    }

    /// Sends what is left, also if the task is cancelled. One attempt of two seconds at most: a relay ends even if no
    /// gateway can be reached.
    func finish() async {
        await Task {
            let end = ContinuousClock.now + Self.farewell
            _ = await untilDeadline(end) { await self.deliver(to: self.allClients(), until: end) }
        }.value
        let (rest, lost, _) = recorder.take()
        let count = batches.count + rest.count + lost
        guard count > 0 else { return }
        logger.error(
            "Entries of the audit trail were taken by no control gateway and are lost.",
            metadata: ["count": "\(count)"])
    }

    private func deliverToOne() async -> Bool {
        let client = await nextClient()
        return await deliver(to: [client].compactMap(\.self))
    }

    private func nextClient() async -> FeedClient? {
        if let asked, asked.failures < Self.attempts { return asked.client }
        let all = await clients()
        let next = all.first { $0.address != asked?.client.address } ?? all.first
        asked = next.map { (client: $0, failures: 0) }
        return next
    }

    /// The one that was asked last comes first.
    private func allClients() async -> [FeedClient] {
        let all = await clients()
        guard let last = asked?.client else { return all }
        return [last] + all.filter { $0.address != last.address }
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
                (isFailing, asked) = (false, nil)
                return true
            } catch {
                asked?.failures += 1
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
