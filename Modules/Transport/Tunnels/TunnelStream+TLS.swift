internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// TLS that begins on an open tunnel. Runs on the loop.
extension TunnelStream {
    func secure(_ order: TunnelSecuring.Order) {
        guard let pool, !isLost else { return ends.refuse(order) }
        switch order {
        case .prepare(let time, let continuation): prepare(within: time, on: pool, continuation)
        case .handshake(let handshake, let continuation): begin(handshake, continuation)
        }
    }

    /// Sends what was written before; what is written from now on waits for the handshake.
    private func prepare(
        within time: Duration, on pool: Pool, _ continuation: @escaping TunnelSecuring.Continuation
    ) {
        if let refusal { return continuation(.failure(refusal)) }
        wire.beginSending()
        while case .bytes(let bytes) = up.take(upTo: .max) { unsent += bytes }
        securing = TunnelSecuring(within: time, from: pool.now, continuation)
        if let failure = unreadBytes() { return lose(failure) }
        pool.watchdog.watch(opening)
        goOnSecuring()
    }

    /// Why TLS cannot begin now; nil if it can.
    private var refusal: LoadError? {
        let reason =
            if securing != nil {
                "TLS is being begun."
            } else if wire.facts.tls != nil {
                "TLS is spoken already."
            } else if up.isFinished {
                "Our side of the stream was ended."
            } else if isDownEnded {
                "The server's side of the stream was ended."
            } else if down.isAwaited || wire.isBeingWritten {
                "Another task reads or writes."
            } else {
                String?.none
            }
        return reason.map { LoadError(.invalidRequest, at: .serverTLS, $0) }
    }

    /// The error for bytes that came before the server could have seen a handshake: the caller would take them for
    /// bytes protected by TLS (CVE-2011-0411).
    private func unreadBytes() -> LoadError? {
        var count = down.bufferedBytes
        if count == 0 {
            count = unsafe scratch.chunk { unsafe wire.receive(into: $0) }.0.count
        }
        guard count > 0 else { return nil }
        return LoadError(
            .protocolViolation, at: .serverTLS, "\(count) bytes came before the handshake and were not read.",
            underlying: UnreadBytes(count: count))
    }

    private func begin(_ handshake: TunnelHandshake, _ continuation: @escaping TunnelSecuring.Continuation) {
        guard let pool, case .held? = securing?.step else {
            return continuation(.failure(LoadError(.invalidRequest, at: .serverTLS, "No handshake is due.")))
        }
        let now = pool.now
        securing?.shakeHands(at: now, continuation)
        let host = opening.request.endpoint.host
        let settings = handshake.settings(with: host)
        if let record = securing?.record {
            record.goOn(with: settings)
            if let identity = handshake.path.identity { wire.show(identity) }
        } else {
            if let failure = unreadBytes() { return lose(failure) }
            securing?.record = wire.beginTLS(settings, at: host, showing: handshake.path.identity)
        }
        pool.watchdog.watch(opening)
        goOnSecuring()
    }

    /// Continues the handshake, if it can go on.
    func goOnSecuring() {
        switch securing?.step {
        case .flushing: flush()
        case .handshaking: shakeHands()
        case .held, nil: wait(for: [])
        }
    }

    private func flush() {
        while !unsent.isEmpty {
            switch wire.send(unsent) {
            case .moved(let count), .drained(let count): unsent = unsent.dropFirst(count)
            case .waits(let interest): return wait(for: interest)
            case .ended, .failed: return fail()
            }
        }
        hold(.success(()))
    }

    /// Nothing happens until the caller, who gets the result, decides what is next.
    private func hold(_ result: Result<Void, LoadError>) {
        wait(for: [])
        guard let now = pool?.now else { return }
        securing?.hold(at: now)?(result)
    }

    private func shakeHands() {
        switch wire.handshake() {
        case .waits(let interest): wait(for: interest)
        case .done(let tls): secured(tls)
        case .held: hold(.failure(failure(isLost: false, "something is in question")))
        case .failed(let isLost, let reason): lose(failure(isLost: isLost, reason))
        }
    }

    private func failure(isLost: Bool, _ reason: String) -> LoadError {
        guard let record = securing?.record else {
            return LoadError(.internalFailure, at: .serverTLS, "OpenSSL has no memory.")
        }
        return record.failure(
            at: opening.request.endpoint, over: wire.facts.connection, isLost: isLost, because: reason)
    }

    private func secured(_ tls: StreamFacts.TLS) {
        // A held chain counts as accepted by OpenSSL only because it will ask again.
        guard securing?.record?.isInQuestion == false else {
            return lose(failure(isLost: false, "the chain was not judged"))
        }
        opening.secured(tls, by: securing?.record)
        wire.received()
        let continuation = securing.take()?.continuation
        (isReadable, sendInterest) = (true, [])
        continuation?(.success(()))
        pump()
    }
}
