internal import Foundation
internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// Follows two control gateways, puts into force what they send, and reports it.
///
/// An actor, since the connections to all gateways share what was applied.
actor RelayFeed {
    /// What a relay consists of besides its feed.
    struct Parts: Sendable {
        let current: CurrentState
        /// What judges by the feed's policy.
        let judge: any PolicyFollower
        /// How long the relay may go on without word.
        let lease: Duration
        /// Where the end of the lease is published.
        let gate: LeaseGate
        /// Where the relay listens; 0 if that is not known.
        let port: UInt16
        let logger: Logger
    }

    private let store: RelayStore
    private let parts: Parts
    private var membership: RelayMembership
    private var lease: RelayLease {
        didSet { parts.gate.publish(lease) }
    }
    private var follower: FeedFollower
    private var choice: ControlChoice
    /// By what tunnels are judged, and the open ones were.
    private let applied = Board<Int64>(0)
    private let keeper: FeedKeeper
    private var renewals: [FeedReport.Renewal] = []
    private let began = ContinuousClock.now
    /// A signal to send a report.
    private nonisolated let ticks = Followers<Void>()
    private let controls: Board<[String]>
    /// The authority that issues certificates, DER; nothing until it was followed.
    private let issuer = Board<Data>()
    /// The gateways of which it was logged that they cannot be followed.
    private var missed: Set<String> = []
    private var questions = Questions()
    /// The last question that a gateway has answered, and what it had reached by then.
    private nonisolated let heard = Board(Questions.Answer(question: 0, revision: 0))

    init(_ store: RelayStore, _ membership: RelayMembership, _ parts: Parts) throws {
        (self.store, self.membership, self.parts) = (store, membership, parts)
        lease = RelayLease(parts.lease)
        let newest = try store.revision()
        keeper = FeedKeeper(
            .init(revision: newest, trust: membership.trust, controls: membership.controls), logger: parts.logger
        ) { try await store.keep($0) }
        follower = FeedFollower(newest: newest, clock: parts.current.clock)
        choice = ControlChoice(membership.controls)
        controls = Board(membership.controls)
    }

    /// Follows until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for place in 0..<FeedAPI.senders { group.addTask { await self.follow(place) } }
            group.addTask { await self.reportToAll() }
            group.addTask { await self.tick() }
            group.addTask { await self.keep() }
            group.addTask { [parts] in
                await LeaseWatch(
                    gate: parts.gate, source: "the control gateways", logger: parts.logger, beginsOver: true
                ) {
                    parts.judge.policyChanged()
                }.run()
            }
            group.addTask { await self.judgeEachMinute() }
            group.addTask { await self.renewCertificates() }
            group.addTask { [parts] in
                for await renewed in parts.current.renewals { await self.note(renewed) }
            }
        }
        ticks.finish()
    }

    private func client(of address: String) throws -> FeedClient {
        FeedClient(address: try Endpoint(address), identity: membership.client, trust: membership.trust)
    }

    /// For a request that any control gateway may take, in the order in which they are to be tried.
    func clients() -> [FeedClient] { choice.inOrder().compactMap { try? client(of: $0) } }

    /// A number that grows with time, by which a gateway's line shows how old it is at most.
    private var echo: Int64 { began.duration(to: .now).wholeMilliseconds }

    /// Where the relay listens, for apps to be told; 0 while it would refuse them.
    private var port: UInt16 { lease.isOver(at: .now) ? 0 : parts.port }
}

// MARK: Following

extension RelayFeed {
    private func follow(_ place: Int) async {
        while !Task.isCancelled {
            if let address = choice.take(place) {
                do { try await follow(address, as: place) } catch { refused(error, by: address) }
                follower.ended(place)
                choice.failed(place, at: .now)
            }
            // Spread, so that all relays of a gateway that has ended do not come to the next one at once.
            try? await Task.sleep(for: .milliseconds(Int.random(in: 100...500)))
        }
    }

    private func refused(_ error: any Error, by address: String) {
        guard !Task.isCancelled else { return }
        // It is tried again several times a second.
        parts.logger.log(
            level: missed.insert(address).inserted ? .notice : .debug, "A control gateway cannot be followed.",
            metadata: ["gateway": "\(address)", "error": "\(error)"])
        if (error as? GatewayError)?.code == .forbidden { removed() }
    }

    private func follow(_ address: String, as place: Int) async throws {
        try await client(of: address).follow("\(FeedAPI.feed)?echo=\(echo)&port=\(port)") {
            try await self.received($0, place, from: address)
        }
    }

    /// - Returns: whether the update that begins is of no use.
    private func received(_ event: FeedAssembly.Event, _ place: Int, from address: String) async throws -> Bool {
        if missed.remove(address) != nil {
            parts.logger.notice("A control gateway is followed again.", metadata: ["gateway": "\(address)"])
        }
        switch event {
        case .nothing: break
        case .begins(let from, let revision): return try !follower.begins(from: from, to: revision, place)
        case .skipped(let revision): follower.skipped(to: revision, place)
        case .update(let update):
            // What cannot be put into force is not followed either.
            _ = try update.authorities?.accepted()
            if let state = try follower.received(update, place) { try await apply(state) }
        case .beat(let beat): heard(beat, place)
        case .removed: removed()
        }
        return false
    }

    private func heard(_ beat: FeedBeat, _ place: Int) {
        guard follower.confirms(beat, place), let word = beat.word(at: echo) else { return }
        let wasOver = lease.isOver(at: .now)
        lease.heard(at: began.advanced(by: .milliseconds(word)))
        // Apps wait for the port.
        if wasOver { ticks.tell(()) }
    }

    private func removed() {
        lease.end(at: .now)
        parts.judge.policyChanged()
    }

    private func apply(_ state: FollowedState) async throws {
        let trust = state.authorities.trust.map { Array($0) }
        let (isTrustNew, areControlsNew) = (trust != membership.trust, state.controls != membership.controls)
        (membership.trust, membership.controls) = (trust, state.controls)
        try publish(state)
        if isTrustNew { try parts.judge.use(membership.server.relayIdentity, trust: trust) }
        parts.judge.policyChanged()
        // Not after the wait, in which a later state may be applied.
        issuer.set(state.authorities.present)
        await parts.judge.settled()
        applied.change { $0 = max($0 ?? 0, state.revision) }
        ticks.tell(())
        guard areControlsNew else { return }
        choice.addresses = membership.controls
        controls.set(membership.controls)
    }

    private func publish(_ state: FollowedState) throws {
        parts.current.update(
            GatewayState(
                policy: state.policy, authorities: try state.authorities.accepted(), server: membership.server,
                tokenKeys: ReadyTokenKeys(TokenKeys([]))))
    }

    /// Ends the tunnels of instances that can no longer renew, of which no gateway sends word.
    private func judgeEachMinute() async {
        while (try? await Task.sleep(for: .seconds(60))) != nil { parts.judge.policyChanged() }
    }
}

// MARK: Reporting

extension RelayFeed {
    private func tick() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: FeedAPI.report)
            ticks.tell(())
        }
    }

    /// Apart from the ticks: a disk that hangs must not keep reports back, by which the gateways' word is known to be
    /// young.
    private func keep() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: FeedAPI.report)
            await keeper.keep(lasting)
        }
        // What came during the last write.
        await keeper.keep(lasting)
    }

    /// What the relay is to know after a restart.
    private var lasting: FeedKeeper.Content {
        .init(revision: follower.newest, trust: membership.trust, controls: membership.controls)
    }

    /// Every control gateway is told, not only those that are followed: an administrator's command at any of them waits
    /// for it.
    private func reportToAll() async {
        await withDiscardingTaskGroup { group in
            var known: Set<String> = []
            for await addresses in controls.values() {
                for address in addresses where known.insert(address).inserted {
                    group.addTask { await self.keepReporting(to: address) }
                }
            }
        }
    }

    private func keepReporting(to address: String) async {
        while !Task.isCancelled {
            if isControl(address) {
                do { try await reportOverOneConnection(to: address) } catch {
                    parts.logger.debug(
                        "A report was not taken.", metadata: ["gateway": "\(address)", "error": "\(error)"])
                }
            }
            try? await Task.sleep(for: .milliseconds(Int.random(in: 500...1000)))
        }
    }

    private func isControl(_ address: String) -> Bool { membership.controls.contains(address) }

    private func reportOverOneConnection(to address: String) async throws {
        let ticks = ticks.follow(buffering: .bufferingNewest(1)) { $0.yield() }
        try await client(of: address).post(FeedAPI.applied) { () -> FeedReport? in
            for await _ in ticks { return await self.report(to: address) }
            return nil
        } sent: { (report: FeedReport, answer: FeedReportAnswer) in
            await self.reported(report, answer, to: address)
        }
    }

    private func report(to address: String) async -> FeedReport? {
        guard isControl(address) else { return nil }
        // Read in this order: a revision that is applied in between would else be reported without what it leaves open.
        let applied = applied.value ?? 0
        let leavesOpen = await parts.judge.leavesTunnelsOpen
        return FeedReport(
            applied: applied, echo: echo, port: port, renewals: renewals,
            asks: questions.asks(address, after: heard.value), leavesOpen: leavesOpen ? true : nil)
    }

    private func reported(_ report: FeedReport, _ answer: FeedReportAnswer, to address: String) {
        let taken = Set(report.renewals).subtracting(answer.renewals ?? [])
        renewals.removeAll(where: taken.contains)
        guard report.asks else { return }
        let answer = questions.answered(by: address, reached: answer.revision)
        heard.change { $0 = answer.merged(with: $0) }
    }

    private func note(_ renewed: PresentedCertificate) {
        let renewal = FeedReport.Renewal(name: renewed.name, serial: renewed.serial)
        guard renewals.count < FeedReport.renewalLimit, !renewals.contains(renewal) else { return }
        renewals.append(renewal)
        ticks.tell(())
    }
}

// MARK: Observation

extension RelayFeed {
    /// What metrics tell.
    struct Figures: Sendable {
        /// The revision by which tunnels are judged, and the open ones were.
        let revision: Int64
        /// How long the lease lasts without further word.
        let lease: Duration
        /// How many control gateways are followed now.
        let followed: Int
        /// By the certificate's name.
        let certificateEnds: [(name: String, end: Date)]
    }

    func figures() -> Figures {
        let certificates = [("feed", membership.client.certificate), ("server", membership.server.certificate)]
        return Figures(
            revision: applied.value ?? 0, lease: lease.rest(at: .now), followed: follower.senderCount,
            certificateEnds: certificates.compactMap { name, der in
                CertificateAuthority.end(ofDER: der).map { (name, $0) }
            })
    }

    var health: HealthFinding {
        lease.isOver(at: .now) ? .notReady("There is no word from the control gateways.") : .well
    }
}

// MARK: Catching up

extension RelayFeed {
    /// Asks the control gateways whether there is news, and waits for a second at most until it is in force.
    ///
    /// The question goes with the reports, over connections that are open. The first answer is enough: each gateway looks
    /// at the store before it gives one.
    ///
    /// - Returns: whether a gateway has answered, and all that it had is in force.
    func catchUp() async -> Bool {
        let question = questions.ask()
        ticks.tell(())
        let (heard, applied) = (heard, applied)
        let isCaughtUp = await untilDeadline(.now + .seconds(1)) { () -> Bool in
            for await answer in heard.values() where answer.question >= question {
                for await revision in applied.values() where revision >= answer.revision { return true }
            }
            return false
        }
        return isCaughtUp ?? false
    }
}

// MARK: Certificates

extension RelayFeed {
    private func renewCertificates() async {
        while !Task.isCancelled {
            let known = issuer.value
            // A gateway that has not heard of the authority in force yet issues by the one before.
            for address in membership.controls.shuffled() where areCertificatesDue {
                do { try await renew(at: address) } catch {
                    parts.logger.warning(
                        "The relay's certificates cannot be renewed yet.",
                        metadata: ["gateway": "\(address)", "error": "\(error)"])
                }
            }
            await untilIssuer(differsFrom: known)
        }
    }

    /// Whether a certificate has served two thirds of its life, or is not of the authority in force: apps and gateways
    /// accept one of a former authority for some weeks only, and none after a revocation.
    private var areCertificatesDue: Bool {
        let now = parts.current.clock()
        let issuer = issuer.value.flatMap { try? AuthorityCertificate(Array($0)) }
        return [membership.client, membership.server].contains { identity in
            if identity.isDue(at: now) { return true }
            guard let issuer else { return false }
            return (try? identity.isIssued(by: issuer)) != true
        }
    }

    /// Returns after ten minutes at the latest, longer than a gateway that limits renewals asks to wait.
    private func untilIssuer(differsFrom known: Data?) async {
        let issuer = issuer
        let isNew = await untilDeadline(.now + .seconds(600)) { () -> Bool in
            for await present in issuer.values() where present != known { return true }
            return false
        }
        // Spread, since all relays hear of it at once. The other gateways have followed the store by then, too.
        if isNew == true { try? await Task.sleep(for: .milliseconds(Int.random(in: 100...1000))) }
    }

    private func renew(at address: String) async throws {
        let keys = RelayKeys()
        let request = try keys.request(named: membership.name)
        let certificates: RelayCertificates = try await client(of: address).post(FeedAPI.certificates, request)
        let renewed = try keys.identities(certificates)
        try await store.change { ($0.client, $0.server) = renewed }
        // Whom the relay trusts is what the feed says: that may have changed since the answer.
        (membership.client, membership.server) = renewed
        if let state = follower.state { try publish(state) }
        try parts.judge.use(membership.server.relayIdentity, trust: membership.trust)
    }
}
