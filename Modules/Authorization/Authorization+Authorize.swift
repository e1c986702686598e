internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire

extension Authorization {
    /// Fetches the configuration if the gateway answers within 5 s; otherwise uses the stored one, within its lease. A
    /// store that was restored from a backup needs the gateway's answer first.
    ///
    /// - Throws: ``AuthorizationError/Code/withdrawn`` with the result code, or the reason why there is no
    ///   configuration.
    @discardableResult
    public func authorize() async throws(AuthorizationError) -> AuthorizationState {
        guard identity != nil else { throw AuthorizationError(.notActivated, "Activate first.") }
        authorizations += 1
        defer { authorizations -= 1 }
        let before = state
        if before == .notAuthorized || before == .authorizing(.enrolling) {
            setState(.authorizing(.fetchingConfiguration))
        }
        // Without a configuration to go on with, a slow renewal is better than none.
        let patience = mayUseLease ? Patience(.seconds(5)) : nil
        do {
            try await renewIdentityIfExpired(within: patience)
            try await refresh(within: patience ?? Patience(.seconds(5)))
        } catch {
            guard mayUseLease, isBridgedByLease(error) else {
                if case .authorizing = state { setState(.notAuthorized) }
                throw error.ofAuthorization
            }
            logger.debug("the stored configuration is used", metadata: ["error": "\(error)"])
            await settle(isFresh: false)
            // What run() fetched before this call opened the gate.
            tellChanges()
            // If the lease is over, waiting does not help: another gateway answers at this address, or the gateway has
            // another authority.
            if error.code == .authorityMismatch, state != .authorized { throw error }
        }
        guard state == .authorized else {
            // A cancelled task does not wait until its conclusion is published: the state may still be an earlier one.
            guard !Task.isCancelled else { throw .cancelled() }
            mayOpen = true
            throw .withdrawn(state.code, withdrawal)
        }
        return state
    }

    /// Whether there is a stored configuration. One from a backup may be older than a withdrawal.
    private var mayUseLease: Bool { document != nil && !records.store.isRestored }

    /// Why there is no access, in words.
    private var withdrawal: String {
        Verdict.reason(for: state.code, of: document, at: leaseTime)
    }

    /// Not if the gateway itself refuses this identity.
    private func isBridgedByLease(_ error: AuthorizationError) -> Bool {
        switch error.code {
        case .unreachable, .communicationFailed, .invalidConfiguration, .authorityMismatch: true
        default: false
        }
    }

    /// Fetches the configuration, verifies and adopts it. If the gateway says that the certificate has expired, it is
    /// renewed first: the clock of this machine may be behind.
    func refresh(within patience: Patience = Patience(.seconds(10))) async throws(AuthorizationError) {
        let shown = identity?.certificate
        do {
            try await refreshWithoutRenewal(within: patience)
        } catch {
            guard error.underlying is CertificateExpired else { throw error }
            // Another call may have renewed it meanwhile.
            if identity?.certificate == shown { try await renewIdentity(within: patience) }
            try await refreshWithoutRenewal(within: patience)
        }
    }

    private func refreshWithoutRenewal(within patience: Patience) async throws(AuthorizationError) {
        guard let identity else { throw AuthorizationError(.notActivated, "Activate first.") }
        let text = try await fetchConfiguration(as: identity, within: patience)
        try await adopt(text, for: identity)
        await acknowledgeConfiguration(within: patience)
    }

    /// Everything up to the assignment happens without suspension, so that the older of two answers is discarded.
    private func adopt(_ text: [UInt8], for asked: IdentityRecord) async throws(AuthorizationError) {
        guard let identity, identity.name == asked.name else { throw .withdrawn(state.code) }
        let verifier = ConfigurationVerifier(trust: identity.trust, instance: identity.name)
        let fresh = try verifier.verify(text, after: document, at: verificationTime)
        // The gateway's time counts from now on, even if the wall clock was ahead; but not that of an old answer.
        if fresh.isNewer(than: document) {
            mark = TimeMark(time: fresh.iat, uptime: clock.uptime)
            gatewayMark = mark
        }
        document = fresh
        unstored = text
        self.identity?.trust = fresh.trust
        decisions.follow(fresh, knowsVersion: application != nil)
        await settle(isFresh: true)
        // A newer one that arrived meanwhile tells both changes.
        if document == fresh { tellChanges() }
    }

    /// Tells the app what has changed in the configuration since it was told last. What changes while it is not
    /// authorized is told once it is.
    private func tellChanges() {
        guard state == .authorized, let document else { return }
        defer { told = document }
        for kind in Verdict.changes(from: told, to: document) {
            send(kind, .none, "The configuration changed.")
        }
    }

    var leaseTime: Int64 { mark.leaseTime(wall: clock.wall, uptime: clock.uptime) }

    /// The time by which certificates are judged: now, by the wall clock, but no earlier than the gateway's own word
    /// allows. What the wall clock said before does not count.
    var verificationTime: Int64 { max(clock.wall, gatewayMark.time(at: clock.uptime)) }

    /// Applies the consequences of what is known. The gate changes before anything is awaited. What is known is stored,
    /// or wiped, before observers are awaited, which may take long: a process that is ended meanwhile finds a
    /// withdrawal stored when it starts again, and no observer can keep the data readable.
    func settle(isFresh: Bool) async {
        guard let document, let identity else { return }
        published.withLock { $0.document = document }
        let verdict = Verdict.state(of: document, decisions: decisions, at: leaseTime)
        let isOpened = verdict == .authorized && authorizations > 0
        if isOpened || Verdict.isWithdrawn(by: document, decisions) { mayOpen = true }
        guard verdict != .authorized || mayOpen else {
            if isFresh { await storeConfiguration() }
            return
        }
        if verdict == .authorized {
            let last = try? gate.policy().policy.rules
            gate.open(Gate.Policy(document, identity: identity.clientIdentity, mark: mark, after: last))
        } else {
            gate.withdraw(verdict.code)
        }
        conclude(verdict)
        if case .wiped = verdict {
            dropIdentity()
            await wipe()
        } else if isFresh {
            await storeConfiguration()
        }
        await publishConclusion()
    }

    /// Draws a conclusion, together with the change of the gate. Once the conclusion is stored, ``publishConclusion()``
    /// must follow.
    func conclude(_ new: AuthorizationState) {
        conclusion = new
        conclusions += 1
        unstoredConclusions += 1
    }

    /// Publishes the gate's new state once the gate's observers have carried it out, so that an app which learns of a
    /// withdrawal finds nothing still open. If several conclusions are stored and carried out at once, only the last
    /// one is published, after all of them: an older one could say that there is access when it is withdrawn already.
    func publishConclusion() async {
        unstoredConclusions -= 1
        if unstoredConclusions == 0 { conclusionWaiters.release() }
        var known: UInt64
        repeat {
            while unstoredConclusions > 0 {
                let (number, signal) = conclusionWaiters.join()
                await signal.wait()
                // If this task is cancelled, the task that stores the last conclusion publishes it.
                guard conclusionWaiters.wasReleased(number) else { return }
            }
            known = conclusions
            await gate.settle()
        } while known != conclusions
        setState(conclusion)
    }

    /// Stores the adopted configuration, unless it is stored already. Of two configurations the store keeps the newer
    /// one, even if the older one is written last. What the store does not take now, ``run()`` stores later.
    func storeConfiguration() async {
        guard let text = unstored, let adopted = document else { return }
        let decisions = decisions
        do {
            try await records.setConfiguration(
                text, of: adopted, mark: mark, gatewayMark: gatewayMark, decisions: decisions)
            try records.store.acceptRestore()
            // Otherwise a newer one was adopted meanwhile, which is not stored yet.
            if document == adopted { (unstored, storedDecisions) = (nil, decisions) }
            hasStoringFailed = false
        } catch {
            storeLater("the configuration", after: error)
        }
    }

    /// Has ``run()`` store it, which it tries every 5 s: the log has one error.
    func storeLater(_ what: String, after error: any Error) {
        logger.log(
            level: hasStoringFailed ? .debug : .error, "\(what) could not be stored",
            metadata: ["error": "\(error)"])
        hasStoringFailed = true
        storing.yield()
    }

    /// Drops what a wipe must destroy, as soon as the wipe is known. The event stream has the private key too: it ends.
    /// Without a gateway that could take the next one, ``run()`` pauses, and finds the wipe over.
    private func dropIdentity() {
        if let identity { client.retire(identity.clientIdentity) }
        identity = nil
        (document, unstored) = (nil, nil)
        gateways = KnownGateways()
        published.withLock { $0.document = nil }
        callChannel(drops: true)
    }

    /// Wipes the store: its keys first, then its data. What could not be destroyed, ``run()`` tries again every 5 s:
    /// the log has one error.
    func wipe() async {
        do {
            try await records.store.wipe()
            isWipeUnfinished = false
        } catch {
            logger.log(
                level: isWipeUnfinished ? .debug : .error, "the store could not be wiped whole",
                metadata: ["error": "\(error)"])
            isWipeUnfinished = true
            storing.yield()
        }
    }

    /// Publishes a state, with an event if it is new.
    func setState(_ new: AuthorizationState) {
        let old = published.withLock { published in
            defer { published.state = new }
            return published.state
        }
        guard old != new else { return }
        switch new {
        case .authorizing, .notAuthorized: return
        case .authorized: send(.authorized, .none, "Authorized.")
        case .locked(let code): send(.notAuthorized, code, "Access is withdrawn; data is kept.")
        case .wiped(let code): send(.notAuthorized, code, "Access is withdrawn and data wiped.")
        }
    }

    func send(_ kind: AuthorizationEvent.Kind, _ code: ResultCode, _ message: String) {
        let event = AuthorizationEvent(kind: kind, code: code, message: message)
        followers.tell(event)
        published.withLock { $0.delegate }?.authorization(self, didReceive: event)
    }
}

extension Authorization {
    /// Renews an expired certificate, within 30 days; afterwards a new activation is needed.
    ///
    /// That it is too late is said without the gateway only if the wall clock says so: what the running time adds to the
    /// gateway's word is wrong if the store was on another machine before, and only a configuration corrects that.
    ///
    /// - Throws: `withdrawn` if the gateway does not renew it because the instance is wiped.
    func renewIdentityIfExpired(within patience: Patience? = nil) async throws(AuthorizationError) {
        guard let identity, verificationTime > identity.notAfter else { return }
        guard clock.wall <= identity.notAfter + IdentityRecord.renewalGrace else {
            throw AuthorizationError(
                .identityExpired, .activationFailed, "The certificate expired more than 30 days ago.")
        }
        do {
            try await renewIdentity(within: patience)
        } catch {
            let isRefused = [.credentialsRefused, .identityExpired].contains(error.code)
            guard isRefused, await isFoundWiped(within: patience ?? Patience(.seconds(10))) else { throw error }
            throw .withdrawn(state.code, withdrawal)
        }
    }

    /// The gateway renews nothing for an instance that was wiped while it was away. Only a configuration proves the wipe,
    /// and the gateway gives it for the expired certificate too.
    private func isFoundWiped(within patience: Patience) async -> Bool {
        do { try await refreshWithoutRenewal(within: patience) } catch { return false }
        if case .wiped = state { return true }
        return false
    }

    /// Obtains a new key and certificate; requests in flight keep the old one, later ones use the new one. A call that
    /// finds another renewal in progress waits for it, and makes none of its own if that one succeeds.
    ///
    /// - Parameter patience: nil for as long as ``Enrollment`` takes.
    func renewIdentity(within patience: Patience? = nil) async throws(AuthorizationError) {
        let present = identity?.certificate
        if let place = renewalTurns.join() {
            await place.wait(until: patience?.end)
            guard renewalTurns.isTurn(of: place) else {
                throw Task.isCancelled
                    ? .cancelled()
                    : AuthorizationError(.unreachable, .noNetwork, "The renewal of the certificate takes too long.")
            }
        }
        defer { renewalTurns.end() }
        guard let old = identity, old.certificate == present else { return }
        let key = try await records.enrollmentKey(for: "renewal")
        let enrollment = Enrollment(client: FleetClient(self), clock: clock, patience: patience)
        var renewed = try await enrollment.renew(old, key: key)
        guard identity?.certificate == old.certificate else { return }
        try await records.finishEnrollment(renewed)
        guard let trust = identity?.trust else { return }
        // The trust of the last configuration, which may have arrived during the renewal.
        renewed.trust = trust
        identity = renewed
        client.retire(old.clientIdentity)
        if state == .authorized { await settle(isFresh: false) }
    }
}

extension AuthorizationError {
    /// The numbers from -600 on are those of an activation. An activated app that needs the gateway to be authorized,
    /// and cannot reach it, has -103.
    fileprivate var ofAuthorization: AuthorizationError {
        guard code == .unreachable else { return self }
        return AuthorizationError(
            .unreachable, .pushConnectionTimeout,
            "The gateway, without which the app cannot be authorized now, cannot be reached.",
            underlying: underlying ?? self)
    }
}
