internal import SallyportCore

extension LinkWatch {
    /// Called at the instant in ``nextInstant``; calling it too early has no effect.
    package mutating func timeCame(at now: Duration) -> [Action] { conclude(at: now) }

    // MARK: The event stream

    package mutating func streamOpened(_ ends: Ends?, at now: Duration) -> [Action] {
        stream = .open
        proved(by: ends, at: now)
        return conclude(at: now)
    }

    /// Something arrived over the stream. If it was sent before the doubt began, it proves nothing.
    package mutating func streamSpoke(at now: Duration) -> [Action] {
        guard stream == .open else { return conclude(at: now) }
        if let doubt, now < doubt.since + .milliseconds(250) { return conclude(at: now) }
        proved(by: ends, at: now)
        return conclude(at: now)
    }

    package mutating func streamEnded(at now: Duration) -> [Action] {
        guard stream != .lost else { return conclude(at: now) }
        let wasOpen = stream == .open
        stream = .lost
        if wasOpen, isReachable { doubt(at: now) }
        return conclude(at: now)
    }

    /// Another process took over the stream, which was announced in its last message.
    package mutating func streamDisplaced(at now: Duration) -> [Action] {
        stream = .displaced
        proved(by: ends, at: now)
        return conclude(at: now)
    }

    // MARK: Probes

    package mutating func probeAnswered(_ number: UInt64, _ ends: Ends?, at now: Duration) -> [Action] {
        guard probes.removeValue(forKey: number) != nil else { return conclude(at: now) }
        if let doubt, number < doubt.firstProbe { return conclude(at: now) }
        let (wasLost, wasInDoubt) = (!isReachable, doubt != nil)
        proved(by: ends, at: now)
        var actions: [Action] = []
        // The gateway answers: the stream need not wait until its next attempt is due.
        let isDue = wasLost || lastCall.map { $0 + times.call <= now } ?? true
        let isStreamDead = stream == .open && wasInDoubt
        if stream == .lost || stream == .none || isStreamDead, isDue {
            lastCall = now
            // An attempt that began while the connection was interrupted may wait for a long time.
            actions.append(.call(drops: wasLost || isStreamDead))
        }
        return actions + conclude(at: now)
    }

    package mutating func probeFailed(_ number: UInt64, at now: Duration) -> [Action] {
        probes[number] = nil
        return conclude(at: now)
    }

    // MARK: The network

    /// The kernel reported links, addresses or routes.
    package mutating func networkChanged(_ new: NetworkState, at now: Duration) -> [Action] {
        let old = network
        network = new
        // The first report is not a change.
        guard let old, old != new else { return conclude(at: now) }
        if let ends, isReachable {
            let before = old.way(from: ends.local, to: ends.remote)
            let after = new.way(from: ends.local, to: ends.remote)
            if before != after, before != .unknown, after != .unknown { doubt(at: now) }
        }
        if doubt != nil || !isReachable {
            eagerUntil = now + times.eagerness
            nextProbe = now
        }
        return conclude(at: now)
    }

    private mutating func doubt(at now: Duration) {
        begin(Doubt(since: now, end: now + times.loss, firstProbe: lastNumber + 1), at: now)
    }

    /// The gateway is reachable.
    private mutating func proved(by ends: Ends?, at now: Duration) {
        if let ends { self.ends = ends }
        lastProof = now
        isProved = true
        doubt = nil
        eagerUntil = now
    }
}
