internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

// Which relay of the cluster carries what. On the loop only.
extension Pool {
    var failover: RelayFailover? { configuration.path.relay?.failover }

    /// - Parameter last: the relay through which the request was sent before; it is tried last.
    func relaysToTry(after last: Endpoint?) -> ArraySlice<Endpoint> {
        failover.map { $0.relays(butLast: last)[...] } ?? []
    }

    /// Whether what is lost at one relay may go on through another one, of this cluster or of the caller's other one.
    func hasAnotherRelay(for attempt: Attempt) -> Bool { attempt.hasOtherCluster || (failover?.count ?? 0) > 1 }

    /// The next relay is tried if no request was sent through this one yet: whatever the request is, the server has seen
    /// nothing of it.
    func triesNextRelay(_ attempt: Attempt, _ failure: LoadError) -> Bool {
        if let refusal = failure.underlying as? RelayRefusal {
            guard refusal.isWorthAnotherRelay, let failed = attempt.relays.popFirst() else { return false }
            if let avoidance = refusal.avoidance { failover?.failed(failed, for: avoidance) }
            return !attempt.relays.isEmpty
        }
        let isUnreached = [.nameLookup, .connect, .relayTLS].contains(attempt.reachedStep)
        guard isUnreached || failure.isEndBeforeRelayAnswered(attempt), let failed = attempt.relays.popFirst() else {
            return false
        }
        failover?.failed(failed)
        return !attempt.relays.isEmpty
    }

    /// Whether a request whose connection broke is sent again through another relay: the answer has not begun, and the
    /// request may be repeated.
    func moves(_ member: any PoolMember, after failure: LoadError) -> Bool {
        // Without a relay left, all of them have been tried.
        guard failure.code == .connectionLost, let exchange = member as? Exchange, mayMove(exchange),
            let relay = exchange.attempt.relays.first, exchange.rewindBody()
        else { return false }
        let attempt = exchange.attempt
        (attempt.movedFrom, attempt.moves) = (relay, attempt.moves + 1)
        attempt.relays = relaysToTry(after: relay)
        return true
    }

    func mayMove(_ exchange: Exchange) -> Bool {
        guard let failover else { return false }
        return exchange.attempt.moves + 1 < failover.count && exchange.mayMove
    }

    /// A request is about to be sent again, through another relay than the one of this connection.
    func noteMove(of attempt: Attempt, from connection: HTTP1Connection) {
        (attempt.movedFrom, attempt.moves) = (connection.relay, attempt.moves + 1)
    }

    /// The relay through which an attempt goes; nil if none is chosen yet.
    func relay(of attempt: Attempt) -> Endpoint? {
        if let connection = attempt.connection as? HTTP1Connection { return connection.relay }
        return attempt.transfer == nil ? nil : attempt.relays.first
    }
}

// MARK: Silent relays

extension Pool {
    /// Does what is due for a member that waits for a relay.
    ///
    /// - Returns: false if it does not wait for one.
    func waitsForRelay(_ member: any PoolMember, at now: LoopInstant) -> Bool {
        let attempt = member.attempt
        guard attempt.failure == nil, !attempt.isLost, let relay = relay(of: attempt),
            let access = configuration.path.relay
        else { return false }
        if let handle = attempt.transfer, [.nameLookup, .connect, .relayTLS].contains(attempt.reachedStep) {
            guard attempt.relays.count > 1 || attempt.hasOtherCluster else { return false }
            guard now >= attempt.dialed.advanced(by: RelayWatch.patience), !waitsForSibling(member, relay) else {
                return true
            }
            attempt.relays.removeFirst()
            access.failover.failed(relay)
            guard !attempt.relays.isEmpty else {
                end(member, .gone(relay, at: attempt.reachedStep))
                return false
            }
            restart(attempt, handle)
            return true
        }
        guard let since = silence(of: member) else { return false }
        if now >= since.advanced(by: RelayWatch.patience) { suspects?(relay, access) }
        return true
    }

    /// Whether libcurl makes no connection for a member, because it waits to learn whether another one may be shared: that
    /// one may be held up by the server, and says nothing about the relay.
    private func waitsForSibling(_ member: any PoolMember, _ relay: Endpoint) -> Bool {
        let attempt = member.attempt
        guard attempt.reachedStep == .nameLookup, let origin = attempt.claim?.origin, mayShare(origin) else {
            return false
        }
        return allMembers.contains { other in
            other !== member && other.attempt.claim?.origin == origin && other.attempt.transfer != nil
                && other.attempt.relays.first == relay && other.attempt.reachedStep != .nameLookup
        }
    }

    /// Since when a member waits for a relay or for the server behind it; nil if it does not.
    private func silence(of member: any PoolMember) -> LoopInstant? {
        if let exchange = member as? Exchange, exchange.awaitsAnswer { return exchange.state.lastActivity }
        if let opening = member as? TunnelOpening, !opening.isOpening { return nil }
        let isOpening = [.relayConnect, .serverTLS].contains(member.attempt.reachedStep)
        return member.attempt.transfer != nil && isOpening ? member.attempt.dialed : nil
    }

    /// A relay is there no longer: everything that may be repeated goes on through another one. What may not be waits on,
    /// until its own time is over.
    func abandon(_ relay: Endpoint) {
        for connection in idle.all where connection.relay == relay { drop(connection) }
        for member in allMembers where self.relay(of: member.attempt) == relay { move(member, from: relay) }
    }

    private func move(_ member: any PoolMember, from relay: Endpoint) {
        let attempt = member.attempt
        guard attempt.failure == nil, !attempt.isLost, let failover else { return }
        guard attempt.moves + 1 < failover.count else { return leave(member, relay) }
        if let exchange = member as? Exchange {
            guard exchange.mayMove else { return }
            guard attempt.transfer != nil else {
                _ = sendsAgain(exchange, isMove: true)
                return
            }
            guard exchange.rewindBody() else { return }
        } else if (member as? TunnelOpening)?.isOpening != true {
            return
        }
        guard let handle = attempt.transfer else { return }
        (attempt.movedFrom, attempt.moves) = (relay, attempt.moves + 1)
        attempt.relays = relaysToTry(after: relay)
        restart(attempt, handle)
    }
}

// MARK: The other cluster

extension Pool {
    /// No relay of this cluster is left for what may be repeated.
    private func leave(_ member: any PoolMember, _ relay: Endpoint) {
        guard mayLeave(member) else { return }
        end(member, .gone(relay, at: member.attempt.reachedStep))
    }

    private func mayLeave(_ member: any PoolMember) -> Bool {
        guard member.attempt.hasOtherCluster else { return false }
        return (member as? Exchange)?.mayMove ?? (member as? TunnelOpening)?.isOpening ?? false
    }

    /// The failure of a member whose connection broke: that no relay serves, if it may go on through the other cluster.
    func unserved(_ member: any PoolMember, _ failure: LoadError) -> LoadError {
        guard failure.code == .connectionLost, mayLeave(member), let relay = relay(of: member.attempt) else {
            return failure
        }
        return .gone(relay, at: failure.step ?? member.attempt.step, underlying: failure)
    }
}

extension LoadError {
    fileprivate static func gone(
        _ relay: Endpoint, at step: LoadError.Step, underlying: LoadError? = nil
    ) -> LoadError {
        LoadError(
            .relayUnreachable, at: step, "The relay \(relay) does not answer any more.", underlying: underlying)
    }

    /// Whether the relay took the connection, and ended it without a word.
    fileprivate func isEndBeforeRelayAnswered(_ attempt: Attempt) -> Bool {
        code == .connectionLost && attempt.reachedStep == .relayConnect && attempt.relayAnswer.status == 0
    }
}
