internal import Foundation
internal import SallyportBase
internal import SallyportWire

/// The relays that follow a gateway's feed: what each has applied, and when it answered last; and the word from the
/// store, of which they are told, and by which the gateway's own relay and guard go on.
///
/// An actor, since the streams of all relays share it, and administrators' commands wait for it.
actor FeedHub {
    typealias Instant = ContinuousClock.Instant

    private struct Stream {
        let relay: RelayIdentifier
        /// Ends the connection.
        let cutOff: @Sendable () -> Void
        /// Since when the relay has not read a line.
        var isWriting: Instant?
    }

    private struct Answer {
        var applied: Int64
        var leavesOpen = false
        var echo: Int64
        var time: Instant
    }

    private let data: GatewayData
    /// How long an administrator's command waits until its change is in force at all relays.
    private let patience: Duration
    private var streams: [Int: Stream] = [:]
    private var lastStream = 0
    private var answers: [RelayIdentifier: Answer] = [:]
    /// The last word from the store: nothing newer than this revision was there at this time.
    private(set) var word: (revision: Int64, time: Instant)?
    /// The lease of the gateway's own relay, guard and tokens: like those on other machines, they must not go on for ever by a
    /// state from which something may have been taken back since.
    private var lease: RelayLease {
        didSet { gate.publish(lease) }
    }
    private let gate: LeaseGate
    /// Longer than any gateway runs.
    private static let endless: Duration = .seconds(100 * 365 * 86_400)
    /// A signal to each stream that there may be a line to send.
    private nonisolated let ticks = Followers<Void>()
    /// A signal at each answer of a relay.
    private nonisolated let answered = Followers<Void>()

    /// - Parameters:
    ///   - lease: how long the gateway's own relay and guard may go on without word from a store that it shares. A
    ///     store of the gateway's own has no other writer: from the first word on, the lease has no end, so that
    ///     tunnels outlast a machine that sleeps and a disk that does not answer.
    ///   - gate: where the end of the lease is published.
    ///   - patience: how long an administrator's command waits until its change is in force at all relays.
    init(_ data: GatewayData, lease: Duration, gate: LeaseGate, patience: Duration) {
        (self.data, self.gate, self.patience) = (data, gate, patience)
        self.lease = RelayLease(data.store.isShared ? lease : FeedHub.endless)
    }

    /// Wakes the streams.
    nonisolated func tick() { ticks.tell(()) }

    /// Asks the store for word, and sends beats, until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.beat() }
            group.addTask { await self.listen() }
        }
    }

    private func beat() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: FeedAPI.beat)
            tick()
            let now = Instant.now
            for stream in streams.values {
                if let since = stream.isWriting, since.duration(to: now) > FeedAPI.patience { stream.cutOff() }
            }
        }
    }

    /// A store that does not answer delays this task alone; what is told of the last word grows older meanwhile.
    private func listen() async {
        while !Task.isCancelled {
            await ask()
            try? await Task.sleep(for: FeedAPI.beat)
        }
    }

    /// Asks the store for word.
    func ask() async {
        let asked = Instant.now
        guard let revision = try? await data.store.confirm() else { return }
        guard (try? await data.catchUp(to: revision)) != nil else { return }
        word = (revision, asked)
        lease.heard(at: asked)
    }
}

// MARK: Streams

extension FeedHub {
    /// Begins the stream of a relay; its earlier one is cut off.
    func begin(
        _ relay: RelayIdentifier, echo: Int64, cutOff: @escaping @Sendable () -> Void
    ) -> (number: Int, ticks: AsyncStream<Void>) {
        for stream in streams.values where stream.relay == relay { stream.cutOff() }
        lastStream += 1
        streams[lastStream] = Stream(relay: relay, cutOff: cutOff)
        answers[relay, default: Answer(applied: 0, echo: echo, time: .now)].echo = echo
        return (lastStream, ticks.follow(buffering: .bufferingNewest(1)) { $0.yield() })
    }

    func end(_ stream: Int) { streams[stream] = nil }

    func begins(writingTo stream: Int) { streams[stream]?.isWriting = .now }
    func hasWritten(to stream: Int) { streams[stream]?.isWriting = nil }

    /// The beat for a relay to which everything up to `position` was sent.
    func beat(for relay: RelayIdentifier, at position: Int64) -> FeedBeat {
        let age = word.flatMap { word in
            word.revision <= position ? word.time.duration(to: .now).wholeMilliseconds : nil
        }
        return FeedBeat(revision: position, age: age, echo: answers[relay]?.echo ?? 0)
    }

    /// Ends all streams.
    nonisolated func finish() { ticks.finish() }
}

// MARK: Answers

extension FeedHub {
    func received(_ report: FeedReport, from relay: RelayIdentifier) {
        answers[relay] = Answer(
            applied: report.applied, leavesOpen: report.leavesOpen ?? false, echo: report.echo, time: .now)
        answered.tell(())
    }

    /// Relays with what is known of them.
    func completed(_ entries: [AdministrationReply.RelayEntry]) -> [AdministrationReply.RelayEntry] {
        entries.map { entry in
            guard let answer = RelayIdentifier(entry.id).flatMap({ answers[$0] }) else { return entry }
            var entry = entry
            (entry.applied, entry.silent) = (answer.applied, answer.time.duration(to: .now).wholeMilliseconds)
            entry.leavesOpen = answer.leavesOpen ? true : nil
            return entry
        }
    }

    /// Waits until all relays judge by a revision, or the time is over.
    ///
    /// A guard that leaves tunnels open is not waited for any longer: the revision would not be in force there later
    /// either.
    func report(on revision: Int64, since start: Instant) async -> RelayReport? {
        let relays = await data.relays.relays
        guard !relays.isEmpty else { return nil }
        let answered = answered.follow(buffering: .bufferingNewest(1)) { $0.yield() }
        // If they have it already, the next answer may be a second away.
        if !isApplied(revision, at: relays) {
            _ = await untilDeadline(start.advanced(by: patience)) {
                for await _ in answered where await self.isApplied(revision, at: relays) { break }
            }
        }
        let missing = missing(revision, relays)
        return RelayReport(
            inForce: relays.count - missing.count, relays: relays.count,
            milliseconds: start.duration(to: .now).wholeMilliseconds, missing: missing)
    }

    private func isApplied(_ revision: Int64, at relays: [RelayRecord]) -> Bool {
        relays.allSatisfy { (answers[$0.id]?.applied ?? -1) >= revision }
    }

    private func missing(_ revision: Int64, _ relays: [RelayRecord]) -> [RelayReport.Missing] {
        relays.compactMap { relay in
            let answer = answers[relay.id]
            let isApplied = isApplied(revision, at: [relay])
            let leavesOpen = answer?.leavesOpen ?? false
            guard !isApplied || leavesOpen else { return nil }
            return RelayReport.Missing(
                name: relay.name, silent: answer?.time.duration(to: .now).wholeMilliseconds,
                leavesOpen: isApplied ? true : nil)
        }
    }
}

extension AdministrationReply.RelayEntry {
    init(_ relay: RelayRecord) {
        self.init(
            name: relay.name, cluster: relay.cluster, port: relay.port, applied: nil, leavesOpen: nil, silent: nil,
            id: relay.id.description)
    }
}
