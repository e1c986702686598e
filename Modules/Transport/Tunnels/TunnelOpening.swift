internal import CCurl
internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// The opening of a tunnel's connection, and the tunnel's member of its pool from then on. Made, kept and used by the
/// engine of its loop; other threads have its handle.
final class TunnelOpening: Attempt, LoopObject {
    typealias Continuation = CheckedContinuation<Result<Tunnel, LoadError>, Never>

    let handle: OpeningHandle
    private var continuation: Continuation?
    private(set) var pool: Pool?
    private var stream: TunnelStream?
    private(set) var tlsVersion: TLSVersion?
    private let deadline: LoopInstant

    init(_ handle: OpeningHandle, answering continuation: Continuation) {
        self.handle = handle
        self.continuation = continuation
        deadline = handle.request.deadline.map { LoopInstant($0) } ?? .never
        super.init(
            to: handle.request.endpoint, since: handle.start, orByOtherCluster: handle.request.hasOtherCluster)
        applicationProtocols = handle.applicationProtocols
    }

    var request: TunnelRequest { handle.request }

    func start(in pool: Pool) {
        self.pool = pool
        pool.share.openings.insert(self)
        pool.start(self)
        pool.watchdog.watch(self)
    }

    /// Whether its connection is not open yet.
    var isOpening: Bool { stream == nil && continuation != nil }
}

extension TunnelOpening: PoolMember {
    var isPaused: Bool { false }

    func begins(with handle: EasyHandle) {
        // A handle that has opened a tunnel is not used for anything else.
        handle.isPlain = false
        handle.set(CURLOPT_URL, "\(request.isSecure ? "https" : "http")://\(request.endpoint)/")
        handle.set(CURLOPT_CONNECT_ONLY, 1)
        // If ALPN has chosen HTTP/2, curl_easy_send() crashes (7.88).
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        handle.set(CURLOPT_SSL_ENABLE_ALPN, 0)
        handle.set(CURLOPT_PIPEWAIT, 0)
        // A proxy must open a tunnel even if the server's bytes are not HTTPS.
        if pool?.configuration.path.proxy != nil { handle.set(CURLOPT_HTTPPROXYTUNNEL, 1) }
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout)
    }

    /// The member has failed, was cancelled, or its tunnel is closed.
    func finished(_ failure: LoadError?) {
        stream?.detach(failure ?? .cancelled())
        report(failure, stream)
        continuation.take()?.resume(returning: .failure(failure ?? .cancelled()))
        stream = nil
        pool?.share.openings.remove(self)
        pool = nil
    }

    private func report(_ failure: LoadError?, _ stream: TunnelStream?) {
        guard let reporter = request.reporter else { return }
        var report = ExchangeReport()
        report.end = attempt.elapsed(until: .now)
        if let handle = attempt.transfer, let path = pool?.configuration.path {
            attempt.tellConnecting(to: &report.timing, handle, isDirect: path.isDirect)
            report.dialed = attempt.dialTime
            report.connection = attempt.connectionFacts(handle, proxy: path.proxy)
        }
        if let stream {
            stream.describe(to: &report)
        } else {
            report.failure = failure
        }
        reporter(report)
    }

    /// The connection is open.
    func connected() {
        guard let handle = attempt.transfer, let pool else { return }
        let descriptor = handle.socket
        let first = handle.firstBytes()
        // libcurl has closed the connection if it had ended by then.
        guard descriptor >= 0, let link = TunnelLink(descriptor, attempt.handshakes, hasFailed: first.hasFailed) else {
            return pool.end(self, LoadError(.connectionLost, at: attempt.reachedStep, "The connection ended at once."))
        }
        pool.takesOver(descriptor, to: nil)
        guard let continuation = continuation.take() else { return }
        let facts = StreamFacts(attempt, handle, proxy: pool.configuration.path.proxy)
        let stream = TunnelStream(self, pool, link, facts)
        self.stream = stream
        if let tls = facts.tls { secured(tls, by: attempt.serverHandshake) }
        stream.start(with: first.bytes)
        pool.watchdog.watch(self)
        continuation.resume(returning: .success(Tunnel(stream.ends, pool.openConnection(of: self))))
    }

    /// From now on, the policy's rules for TLS versions apply to the connection.
    func secured(_ tls: StreamFacts.TLS, by handshake: HandshakeRecord?) {
        tlsVersion = TLSVersion(openSSL: tls.version)
        if let handshake { pool?.share.agreed(on: tlsVersion, in: handshake, with: attempt.endpoint) }
    }

    var dueAt: LoopInstant { stream?.dueAt ?? deadline }

    func overdue(at now: LoopInstant) -> LoadError? {
        if let stream { return stream.overdue(at: now) }
        guard now >= deadline else { return nil }
        return LoadError(.resourceTimeout, at: attempt.reachedStep, "The time for the whole stream is over.")
    }

    func turnEnds() {}

    func willConnect(_ descriptor: Int32) -> Bool {
        attempt.step = .connect
        pool?.opened(descriptor, by: self)
        return true
    }

    func willHandshake(_ context: OpaquePointer) {
        guard let pool else { return }
        unsafe attempt.willHandshake(pool.configuration, context)
    }

    func willSendRequest() -> Bool { true }
    func received(headerLine line: UnsafeRawBufferPointer) -> Bool { unsafe attempt.relayAnswer.received(line) }
    func received(body: UnsafeRawBufferPointer) -> Int { 0 }
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int { Int(CURL_READFUNC_ABORT) }
    func rewindBody() -> Bool { false }
}

extension EasyHandle {
    /// The available bytes of the connection. The first call has another purpose: it makes the handle keep the
    /// connection that it has just opened; otherwise libcurl treats the connection as idle, and closes it if it finds
    /// bytes on it (7.88, once a second, when another connection is opened).
    ///
    /// - Returns: the bytes, and whether the call failed. An end without a failure is reported again.
    func firstBytes() -> (bytes: [UInt8], hasFailed: Bool) {
        var code = CURLE_OK
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
            code = unsafe curl_easy_recv(raw, buffer.baseAddress, buffer.count, &count)
        }
        return (bytes, code != CURLE_OK && code != CURLE_AGAIN)
    }
}
