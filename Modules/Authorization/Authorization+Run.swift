internal import HTTPTypes
internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire

extension Authorization {
    /// Keeps the authorization current until the task is cancelled or ``shutdown()`` is called: receives the gateway's
    /// events, fetches the configuration at half its lease, renews the identity and ends the lease on time.
    ///
    /// It opens nothing before ``authorize()`` is called, or after a call that ended in another error than `withdrawn`.
    /// It carries out a withdrawal, and opens again when one is lifted, also one that was stored before the start. The
    /// end of a lease before the start is none: then too, ``authorize()`` opens first.
    ///
    /// If it starts before the activation, it waits for that. Call it once.
    public func run() async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.followEvents() }
            group.addTask { await self.followHints() }
            group.addTask { await self.followTime() }
            group.addTask { await self.followRenewals() }
            group.addTask { await self.followStorings() }
            group.addTask {
                for await _ in self.stopped {}
                return true
            }
            // After a wipe the other tasks have nothing left to do; the task is ended from outside.
            while let isStopped = await group.next() {
                if isStopped { group.cancelAll() }
            }
        }
        board.set(.unknown)
        channel.set(.none)
    }

    /// Ends everything, like ``shutdown()``, and frees the connections to the gateway. Idempotent; the gateway is not
    /// contacted again. Call it before the store is closed.
    public nonisolated func close() async {
        shutdown()
        await client.shutdown()
    }

    /// Closes the connections to the gateway, and ends what uses them with `connectionLost`; the event stream is
    /// reopened at once.
    package nonisolated func resetConnections() {
        callChannel(drops: true)
        client.reset(.reset)
    }

    /// Ends ``run()`` and the event sequences. Idempotent. The gate does not change.
    public nonisolated func shutdown() {
        followers.finish()
        board.finish()
        channel.finish()
        calls.finish()
        // Last: what the end of ``run()`` sets is not a change that the sequences tell of.
        stop.finish()
    }

    private var isWiped: Bool { if case .wiped = state { true } else { false } }

    // MARK: Events

    /// How an event stream ended.
    private enum StreamEnd { case lost, replaced, dropped, renewed }

    private func followEvents() async -> Bool {
        while !Task.isCancelled, !isWiped {
            let calls = calls.value ?? ChannelCalls()
            let end = await readEvents(unlessDroppedSince: calls)
            if end == .renewed {
                // The next stream has the new certificate, so it cannot end as renewed unless there is another renewal.
                channel.set(.lost)
                continue
            }
            if end == .lost, hasFreshGateway, !Task.isCancelled {
                // The gateway is gone, and not the infrastructure.
                channel.set(.lost)
                continue
            }
            board.set(end == .replaced || identity == nil ? .unknown : .unreachable)
            channel.set(end == .replaced ? .displaced : .lost)
            // Idle connections on the abandoned path are of no further use.
            if end == .dropped, let identity { client.retire(identity.clientIdentity) }
            let goesOn =
                end == .replaced
                ? (try? await clock.sleep(for: .seconds(60))) != nil
                : await pause(Backoff.retry(using: &random), unlessCalledSince: calls)
            guard goesOn else { return false }
        }
        return false
    }

    private func readEvents(unlessDroppedSince known: ChannelCalls) async -> StreamEnd {
        await withTaskGroup(of: StreamEnd?.self) { group in
            group.addTask { await self.readEvents() }
            group.addTask {
                for await calls in self.calls.values() where calls.drops != known.drops { return .dropped }
                return nil
            }
            defer { group.cancelAll() }
            while let end = await group.next() { if let end { return end } }
            return .lost
        }
    }

    /// - Returns: false if the task was cancelled.
    private func pause(_ duration: Duration, unlessCalledSince known: ChannelCalls) async -> Bool {
        await withTaskGroup(of: Bool?.self) { group in
            group.addTask { (try? await self.clock.sleep(for: duration)) != nil }
            group.addTask {
                for await calls in self.calls.values() where calls != known { return true }
                return nil
            }
            defer { group.cancelAll() }
            while let goesOn = await group.next() { if let goesOn { return goesOn } }
            return false
        }
    }

    /// Reads one stream to its end. Events only say that something changed; the signed configuration contains the
    /// change.
    private func readEvents() async -> StreamEnd {
        guard let identity, let gateway = gatewaysToAsk().first else { return .lost }
        var request = ControlRequest(
            gateway: gateway, target: ControlAPI.Path.events, trust: .authorities(identity.trust.authorities),
            identity: identity.clientIdentity, limit: 0, timeout: .seconds(5))
        request.headerFields[.accept] = ControlAPI.MediaType.events
        if let lastEventID, let name = HTTPField.Name("Last-Event-ID") { request.headerFields[name] = lastEventID }
        do {
            let stream = try await open(request)
            guard stream.status == 200 else {
                // The answer to a fetch says why, such as an expired certificate, which is renewed then, or a wipe.
                if stream.status == 403 { hint.yield() }
                return lost(gateway)
            }
            gateways.answered(gateway)
            board.set(.reachable)
            hint.yield()
            var heard: UInt64 = 0
            channel.set(.open(heard: heard, over: stream.connection))
            var parser = ServerSentEventParser()
            for try await chunk in stream.body {
                heard += 1
                channel.set(.open(heard: heard, over: stream.connection))
                for event in try parser.receive(chunk) where take(event) == .replaced { return .replaced }
            }
            // A gateway ends a stream whose certificate counts no more, also if the app has another one by now.
            if let renewed = self.identity?.certificate, renewed != identity.certificate { return .renewed }
        } catch {
            logger.debug("the event stream ended", metadata: ["error": "\(error)"])
            if error.isReset { return .lost }
        }
        return lost(gateway)
    }

    private func lost(_ gateway: Endpoint) -> StreamEnd {
        if !Task.isCancelled { gateways.failed(gateway, at: .now) }
        return .lost
    }

    /// Opens the stream; within a moment, if there is another gateway that may take it and has not failed just now. On a
    /// slow network all would fail otherwise, again and again.
    private func open(_ request: ControlRequest) async throws(LoadError) -> ControlStream {
        guard gateways.order.hasFresh(at: .now, besides: request.gateway) else { return try await client.open(request) }
        let result = await withTaskGroup(of: Result<ControlStream, LoadError>.self) { [client, clock] group in
            group.addTask {
                do throws(LoadError) { return .success(try await client.open(request)) } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                try? await clock.sleep(for: GatewayRace.patience)
                return .failure(LoadError(.idleTimeout, at: .connect, "The gateway does not answer in time."))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.cancelled())
        }
        return try result.get()
    }

    private func take(_ event: ServerSentEvent) -> StreamEnd? {
        guard let event = ControlEvent(event) else { return nil }
        if let id = event.id { lastEventID = "\(id)" }
        if event.kind == .replaced { return .replaced }
        hint.yield()
        return nil
    }

    // MARK: Fetching

    /// One fetch at a time, repeated every 5 s ± 20 % until one succeeds; events that arrive meanwhile cause one more.
    private func followHints() async -> Bool {
        for await _ in hints {
            while !Task.isCancelled, !isWiped, identity != nil {
                do {
                    try await renewIdentityIfExpired()
                    try await refresh()
                    break
                } catch {
                    logger.debug("the configuration could not be fetched", metadata: ["error": "\(error)"])
                    guard (try? await clock.sleep(for: Backoff.retry(using: &random))) != nil else { return false }
                }
            }
        }
        return false
    }

    // MARK: Storing

    /// Stores what the store did not take, such as a withdrawal while the disk was full, and wipes what a wipe has
    /// left: tried every 5 s ± 20 %, also without a gateway, since a process that is started again knows only what is
    /// stored.
    private func followStorings() async -> Bool {
        for await _ in storings {
            while !Task.isCancelled, unstored != nil || hasUnstoredDecisions || isWipeUnfinished {
                guard (try? await clock.sleep(for: Backoff.retry(using: &random))) != nil else { return false }
                await storeAgain()
            }
        }
        return false
    }

    /// Not after a wipe, which leaves no identity that they could be of.
    private var hasUnstoredDecisions: Bool { identity != nil && decisions != storedDecisions }

    /// After a wipe nothing else is left to store. Otherwise the decisions first: there may be room for them, and none
    /// for a configuration.
    private func storeAgain() async {
        if isWipeUnfinished { return await wipe() }
        if hasUnstoredDecisions { _ = await storeDecisions() }
        guard unstored != nil else { return }
        await storeConfiguration()
        if unstored == nil { await acknowledgeConfiguration(within: Patience(.seconds(10))) }
    }

    // MARK: Time

    private func followTime() async -> Bool {
        while !Task.isCancelled, !isWiped {
            await keepTime()
            guard (try? await clock.sleep(for: .seconds(secondsToNextDuty))) != nil else { return false }
        }
        return false
    }

    /// Handles what is due: storing the time, half the lease, the lease's end, two thirds of the certificate's life.
    /// It waits for no answer of the gateway's, which the end of the lease would have to wait for too.
    private func keepTime() async {
        guard let document, identity != nil else { return }
        let (time, uptime) = (leaseTime, clock.uptime)
        mark = TimeMark(time: time, uptime: uptime)
        gatewayMark = TimeMark(time: gatewayMark.time(at: uptime), uptime: uptime)
        do {
            try await records.setMarks(mark, gateway: gatewayMark)
        } catch {
            logger.debug("the time could not be stored", metadata: ["error": "\(error)"])
        }
        if time >= document.halfLease { hint.yield() }
        if isRenewalDue { renewal.yield() }
        if state == .authorized { await settle(isFresh: false) }
    }

    private var isRenewalDue: Bool { identity.map { verificationTime >= $0.renewalTime } ?? false }

    /// One renewal at a time. One that fails is tried again when its time is looked at next.
    private func followRenewals() async -> Bool {
        for await _ in renewals where isRenewalDue {
            do {
                try await renewIdentity()
            } catch {
                logger.debug("the identity could not be renewed", metadata: ["error": "\(error)"])
            }
        }
        return false
    }

    /// At most a minute, at least a second.
    private var secondsToNextDuty: Int64 {
        guard let document else { return 1 }
        let due = [document.halfLease, document.leaseEnd].map { $0 - leaseTime }.filter { $0 > 0 }
        return max(1, min(60, due.min() ?? 60))
    }
}

extension ConfigurationDocument {
    /// When a running client fetches the next configuration, in Unix seconds.
    var halfLease: Int64 { iat + max(0, leaseEnd - iat) / 2 }
}
