internal import CCurl
internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

// An exchange among the members of its pool.
extension Exchange: PoolMember {
    var flow: TransferFlow { state.flow }
    var isPaused: Bool { !state.flow.mayReceive || isSendingPaused }
    var isSuspended: Bool { request.control?.isSuspended ?? false }
    var urgency: Urgency { request.control.map { Urgency($0.priority) } ?? .standard }
    var tlsVersion: TLSVersion? {
        guard request.url.isSecure, state.isSendingBegun else { return nil }
        return attempt.connection?.tlsFacts.flatMap { TLSVersion(openSSL: $0.version) }
    }

    var dueAt: LoopInstant {
        min(state.dueAt(hasBegun: attempt.hasBegun), attempt.connectsBy(request.connectTimeout))
    }

    func overdue(at now: LoopInstant) -> LoadError? {
        if let pool, now >= attempt.connectsBy(request.connectTimeout) {
            return pool.unconnected(attempt, within: request.connectTimeout)
        }
        // Changed apart: what makes an error is no small call.
        var changed = state
        let failure = changed.timePassed(
            until: now, hasBegun: attempt.hasBegun, isSendingPaused: isSendingPaused, step: attempt.reachedStep)
        state = changed
        return failure
    }

    /// It starts, on an existing connection or by opening one.
    func begins() {
        moved()
        if notes.queueTime == nil { notes.queueTime = attempt.elapsed(until: state.lastActivity) }
        pool?.watchdog.watch(self)
    }

    func begins(with handle: EasyHandle) {
        begins()
        handle.set(CURLOPT_URL, request.url.absoluteText)
        // A path whose exchanges have their own proxy authorization has no common lines.
        if let authorization = request.proxyAuthorization {
            handle.setProxyLines(HeaderLines(proxyAuthorization: authorization))
        }
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout)
        handle.set(CURLOPT_FORBID_REUSE, 0)
        if usesOwnHTTP { dials(with: handle) } else { transfers(with: handle) }
    }

    private func dials(with handle: EasyHandle) {
        // A handle that has opened a connection for others keeps it.
        handle.isPlain = false
        handle.set(CURLOPT_CONNECT_ONLY, 1)
        // An idle connection of libcurl's own has separate TLS state.
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        handle.set(CURLOPT_PIPEWAIT, 0)
        if pool?.configuration.path.proxy != nil { handle.set(CURLOPT_HTTPPROXYTUNNEL, 1) }
    }

    private func transfers(with handle: EasyHandle) {
        let body = self.handle.body
        handle.setLines(HeaderLines(request.headerFields, extra: body.extraLines(for: request)))
        let isPlainHTTP = request.protocols == .http1Only || !request.url.isSecure
        let version = isPlainHTTP ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS
        handle.set(CURLOPT_HTTP_VERSION, Int(version))
        // With this, libcurl 7.88 waits for any connection to the host that is being opened, even if it cannot be
        // shared, and then for the end of its exchange.
        let mayShare = !isPlainHTTP && attempt.claim.map { pool?.mayShare($0.origin) == true } == true
        handle.set(CURLOPT_PIPEWAIT, mayShare ? 1 : 0)
        body.configure(handle, request)
    }
}
