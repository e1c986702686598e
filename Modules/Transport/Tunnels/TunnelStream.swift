internal import CCurl
internal import COpenSSL
internal import Glibc
internal import SallyportCore
internal import SallyportEventLoop

/// The bytes of a tunnel between two pipes and its socket. Pipes are used from any thread, all else on the loop.
final class TunnelStream: @unchecked Sendable {
    // SAFETY: `down`, `up` and `engine` are constant and thread-safe; everything else is touched on the loop only.
    /// Octets for one call into libcurl.
    private static let portion = 64 << 10

    let down: BodyPipe
    let up: BodyPipe
    private let engine: TransportEngine
    private let wake: Wake
    private let opening: TunnelOpening
    private var pool: Pool?
    /// Nil once the connection is gone: libcurl frees what a pool shares only behind the last handle, and on the loop.
    private var handle: EasyHandle?
    private let descriptor: Int32
    private var unsent: ArraySlice<UInt8> = []
    private var isDownFull = false
    private var isDownEnded = false
    private var isUpEnded = false

    /// Ties the pipes' hooks to a stream that does not exist yet when they are made.
    private final class Wake: Sendable {
        private let stream = Lock<WeakStream>(WeakStream())
        private struct WeakStream { weak var stream: TunnelStream? }

        func tie(_ stream: TunnelStream) { self.stream.withLock { $0.stream = stream } }

        func callAsFunction() {
            guard let stream = stream.withLock({ $0.stream }) else { return }
            stream.engine.post(.pump(stream))
        }
    }

    init(_ opening: TunnelOpening, _ pool: Pool, _ handle: EasyHandle, _ descriptor: Int32) {
        let wake = Wake()
        self.wake = wake
        self.opening = opening
        self.pool = pool
        self.handle = handle
        self.descriptor = descriptor
        engine = opening.engine
        down = BodyPipe(hooks: .init(hasRoom: { wake() }, wasDiscarded: { wake() }))
        up = BodyPipe(hooks: .init(hasBytes: { wake() }))
        wake.tie(self)
    }

    func postClose() { engine.post(.close(self)) }

    // MARK: Loop

    /// Moves what can be moved in both directions, and waits for the rest.
    func pump() {
        guard pool != nil else { return }
        isDownFull = false
        let waitsForWriting = sendAll()
        receiveAll()
        guard let pool else { return }
        var interest: Interest = waitsForWriting ? .write : []
        if !isDownFull && !isDownEnded { interest.insert(.read) }
        if isUpEnded && isDownEnded { return close() }
        if interest.isEmpty {
            pool.loop.forget(descriptor)
        } else {
            pool.loop.watch(descriptor, for: interest, handler: self)
        }
    }

    /// - Returns: whether the socket takes no more now.
    private func sendAll() -> Bool {
        while !isUpEnded {
            if unsent.isEmpty {
                switch up.take(upTo: Self.portion) {
                case .bytes(let bytes): unsent = bytes[...]
                case .empty: return false
                case .failed: isUpEnded = true
                case .end:
                    isUpEnded = true
                    if !endWriting() { fail(CURLE_SEND_ERROR) }
                    return false
                }
            }
            if !send() { return true }
        }
        return false
    }

    /// - Returns: false where the socket takes no more now.
    private func send() -> Bool {
        guard !unsent.isEmpty, let handle else { return true }
        var count = 0
        let code = unsafe unsent.withUnsafeBytes { unsafe curl_easy_send(handle.raw, $0.baseAddress, $0.count, &count) }
        unsent = unsent.dropFirst(count)
        if code == CURLE_AGAIN { return false }
        if code != CURLE_OK { fail(code) }
        return true
    }

    private func receiveAll() {
        while !isDownFull && !isDownEnded, let handle {
            var code = CURLE_OK
            let chunk = unsafe [UInt8](unsafeUninitializedCapacity: Self.portion) { buffer, count in
                unsafe code = curl_easy_recv(handle.raw, buffer.baseAddress, buffer.count, &count)
            }
            if code == CURLE_AGAIN { return }
            guard code == CURLE_OK else { return fail(code) }
            received(chunk)
        }
    }

    private func received(_ chunk: [UInt8]) {
        guard !chunk.isEmpty else {
            isDownEnded = true
            // The end of TCP without TLS's own end is an error, not an end.
            if let last = opening.attempt.handshakes.last, !last.isEnded { return fail(CURLE_RECV_ERROR) }
            return down.finish()
        }
        switch down.push(chunk) {
        case .more: break
        case .full: isDownFull = true
        case .closed: isDownEnded = true
        }
    }

    private func fail(_ code: CURLcode) {
        isUpEnded = true
        isDownEnded = true
        let message = "The tunnel broke (libcurl code \(code.rawValue))."
        let failure = LoadError(.connectionLost, at: .response, message)
        down.finish(failure)
        up.discard()
    }

    // MARK: End

    /// close_notify on the innermost TLS, else FIN.
    private func endWriting() -> Bool {
        guard !opening.attempt.handshakes.isEmpty else { return shutdown(descriptor, Int32(SHUT_WR)) == 0 }
        return CloseNotify.send(through: opening.attempt.handshakes, to: descriptor)
    }

    /// Closes the connection. On the loop.
    func close() {
        guard let pool else { return }
        pool.end(opening, LoadError(.connectionLost, at: .response, "The tunnel was closed."))
    }

    /// The connection is about to be freed.
    func detach(_ failure: LoadError) {
        guard let pool = self.pool else { return }
        self.pool = nil
        handle = nil
        pool.loop.forget(descriptor)
        down.finish(failure)
        up.discard()
    }
}

extension TunnelStream: DescriptorHandler {
    func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) { pump() }
}

/// TLS's own end of a direction (RFC 8446 §6.1), sent beside libcurl, which can only end both at once.
private enum CloseNotify {
    /// Makes the alert with the innermost connection, wraps it with those around it, and sends the result.
    static func send(through handshakes: [HandshakeRecord], to descriptor: Int32) -> Bool {
        var record: [UInt8] = []
        for (index, handshake) in handshakes.reversed().enumerated() {
            guard let connection = unsafe handshake.connection else { return false }
            let inner = record
            record = unsafe capture(connection) {
                if index == 0 { return unsafe SSL_shutdown(connection) >= 0 }
                return unsafe inner.withUnsafeBytes {
                    unsafe SSL_write(connection, $0.baseAddress, Int32($0.count)) == Int32(inner.count)
                }
            }
            if record.isEmpty { return false }
        }
        return unsafe record.withUnsafeBytes {
            unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) == $0.count
        }
    }

    /// What `body` makes `connection` write. libcurl's own BIO needs a call of libcurl's around it.
    private static func capture(_ connection: OpaquePointer, _ body: () -> Bool) -> [UInt8] {
        guard let memory = unsafe BIO_new(BIO_s_mem()), let original = unsafe SSL_get_wbio(connection) else {
            return []
        }
        unsafe BIO_up_ref(original)
        unsafe SSL_set0_wbio(connection, memory)
        let isDone = body()
        var octets = [UInt8](repeating: 0, count: 4096)
        let count = unsafe BIO_read(memory, &octets, Int32(octets.count))
        unsafe SSL_set0_wbio(connection, original)
        return isDone && count > 0 ? Array(octets.prefix(Int(count))) : []
    }
}
