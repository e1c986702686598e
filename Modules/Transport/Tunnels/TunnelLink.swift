internal import COpenSSL
internal import CSocketBIO
internal import Glibc
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// The connection of a tunnel once libcurl has opened it: bytes bypass libcurl and go straight into OpenSSL or the
/// socket.
///
/// libcurl ends both directions of TLS at once, looks a connection up in a list for each call, and hides from OpenSSL
/// whether TCP ended. So OpenSSL gets the socket itself; for TLS inside TLS, the outer connection serves as the inner
/// one's socket. libcurl still owns and frees everything except TLS that was begun later (``beginTLS(_:at:showing:)``).
@safe
struct TunnelLink: @unchecked Sendable {
    // SAFETY: created and freed on the loop, and used in between only under the lock of its ``TunnelWire``, including
    // OpenSSL's callbacks; the code that opened the connection reads its handshakes before that.
    /// The result of a call.
    enum Outcome {
        case moved(Int)
        /// This many bytes were read, and there are probably no more now: the socket reports when there are.
        case drained(Int)
        /// Nothing now; try again when the socket is ready for this.
        case waits(Interest)
        /// The peer has ended its side properly: with close_notify under TLS, otherwise with FIN.
        case ended
        case failed

        /// There is probably more.
        var isMoved: Bool { if case .moved = self { true } else { false } }
    }

    let descriptor: Int32
    private(set) var handshakes: [HandshakeRecord]
    /// The innermost TLS; nil if there is none.
    private(set) var tls: OpaquePointer?
    /// TLS that was begun later, which this type frees.
    private var ownTLS: OpaquePointer?
    /// A call has failed that was not to receive. The kernel reports a reset only once, and then ends what is received as
    /// after a FIN: only TLS can prove that the peer's side ended properly.
    private var hasFailed: Bool

    /// Nil if memory is exhausted.
    ///
    /// - Parameters:
    ///   - handshakes: those of the connection, the outermost first.
    ///   - hasFailed: whether libcurl's last call for the connection has failed.
    init?(_ descriptor: Int32, _ handshakes: [HandshakeRecord], hasFailed: Bool = false) {
        self.descriptor = descriptor
        self.hasFailed = hasFailed
        self.handshakes = handshakes
        unsafe tls = handshakes.last?.connection
        var outer: OpaquePointer?
        for handshake in handshakes {
            guard let connection = unsafe handshake.connection else { return nil }
            guard unsafe Self.carry(connection, over: outer, descriptor) else { return nil }
            unsafe outer = connection
        }
    }

    /// - Parameter outer: the TLS around this one; nil if there is none.
    private static func carry(_ connection: OpaquePointer, over outer: OpaquePointer?, _ descriptor: Int32) -> Bool {
        unsafe sallyport_prepare_to_carry(connection)
        guard let outer = unsafe outer else { return unsafe sallyport_carry_over_socket(connection, descriptor) == 1 }
        return unsafe sallyport_carry_over_tls(connection, outer) == 1
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        guard let tls = unsafe tls else {
            let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count == 0 { return hasFailed ? .failed : .ended }
            let isLast = count > 0 && count < buffer.count
            return isLast ? .drained(count) : Self.outcome(ofCall: count, waitingFor: .read)
        }
        var count = 0
        sallyport_clear_errors()
        let code = unsafe SSL_read_ex(tls, buffer.baseAddress, buffer.count, &count)
        guard code == 1 else { return unsafe outcome(of: tls, code) }
        return count < Self.record && !hasPending ? .drained(count) : .moved(count)
    }

    /// The longest record (RFC 8446 §5.1): a shorter one is usually the last for now.
    private static let record = 16 << 10

    /// Whether there are bytes that the socket does not report.
    private var hasPending: Bool {
        // Includes bytes of a BIO that reads ahead: SSL_has_pending reports only the connection's own.
        handshakes.contains { handshake in
            guard let connection = unsafe handshake.connection else { return false }
            return unsafe SSL_has_pending(connection) == 1 || BIO_ctrl_pending(SSL_get_rbio(connection)) > 0
        }
    }

    /// Has the socket report that it is readable only once so many bytes have arrived, or its end (socket(7),
    /// `SO_RCVLOWAT`).
    func report(fromBytes count: Int) {
        var count = Int32(count)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &count, socklen_t(MemoryLayout<Int32>.size))
    }

    /// - Parameter buffer: not empty.
    func send(_ buffer: UnsafeRawBufferPointer) -> Outcome {
        guard let tls = unsafe tls else {
            let count = unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            return Self.outcome(ofCall: count, waitingFor: .write)
        }
        // One call reads one record.
        if let outermost = unsafe handshakes.first?.connection {
            unsafe sallyport_announce_more(outermost, buffer.count > Self.record ? 1 : 0)
        }
        var count = 0
        sallyport_clear_errors()
        let code = unsafe SSL_write_ex(tls, buffer.baseAddress, buffer.count, &count)
        return unsafe code == 1 ? .moved(count) : outcome(of: tls, code)
    }

    /// To be called when a send has failed.
    mutating func sendFailed() { hasFailed = true }

    /// Ends our direction and leaves the other open: with close_notify on the innermost TLS (RFC 8446 §6.1), which is
    /// data for the outer ones, otherwise with FIN. Everything was sent before. ``Outcome/ended`` once it is done.
    func endSending() -> Outcome {
        guard let tls = unsafe tls else { return shutdown(descriptor, Int32(SHUT_WR)) == 0 ? .ended : .failed }
        sallyport_clear_errors()
        let code = unsafe SSL_shutdown(tls)
        return unsafe code >= 0 ? .ended : outcome(of: tls, code)
    }

    /// Makes the following end a reset without close_notify: a truncated stream must not look complete to the server.
    func willReset() {
        for handshake in handshakes {
            if let connection = unsafe handshake.connection { unsafe SSL_set_quiet_shutdown(connection, 1) }
        }
        var linger = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }

    private func outcome(of tls: OpaquePointer, _ code: Int32) -> Outcome {
        switch unsafe SSL_get_error(tls, code) {
        case SSL_ERROR_WANT_READ: .waits(.read)
        case SSL_ERROR_WANT_WRITE: .waits(.write)
        // An end of TCP without the end of TLS may be caused by an attacker: it is an error, not a regular end.
        case SSL_ERROR_ZERO_RETURN: handshakes.last?.isEnded == true ? .ended : .failed
        default: .failed
        }
    }

    private static func outcome(ofCall count: Int, waitingFor interest: Interest) -> Outcome {
        if count >= 0 { return .moved(count) }
        return errno == EAGAIN || errno == EINTR ? .waits(interest) : .failed
    }

    // MARK: TLS that begins later

    /// Adds a TLS connection on top of the present one. Nothing is sent before ``handshake()``.
    ///
    /// - Returns: the record of the handshake; nil if memory is exhausted.
    mutating func beginTLS(_ settings: HandshakeSettings, at host: Host, showing identity: ClientIdentity?)
        -> HandshakeRecord?
    {
        guard unsafe ownTLS == nil, let (connection, record) = unsafe settings.makeConnection(to: host) else {
            return nil
        }
        guard unsafe Self.carry(connection, over: tls, descriptor) else {
            unsafe SSL_free(connection)
            return nil
        }
        unsafe identity?.show(on: connection)
        unsafe (tls, ownTLS) = (connection, connection)
        handshakes.append(record)
        return record
    }

    /// Replaces the client certificate, if the server's request for one has not been answered yet.
    func show(_ identity: ClientIdentity) {
        if let ownTLS = unsafe ownTLS { unsafe identity.show(on: ownTLS) }
    }

    /// The result of one step of a handshake.
    enum HandshakeOutcome {
        case done(StreamFacts.TLS)
        case waits(Interest)
        /// The handshake waits for a decision.
        case held
        /// - Parameter isLost: whether the connection ended.
        case failed(isLost: Bool, reason: String)
    }

    func handshake() -> HandshakeOutcome {
        guard let tls = unsafe ownTLS else { return .failed(isLost: false, reason: "out of memory") }
        sallyport_clear_errors()
        let code = unsafe SSL_do_handshake(tls)
        if code == 1 { return unsafe .done(StreamFacts.TLS(tls)) }
        switch unsafe SSL_get_error(tls, code) {
        case SSL_ERROR_WANT_READ: return .waits(.read)
        case SSL_ERROR_WANT_WRITE: return .waits(.write)
        case SSL_ERROR_WANT_RETRY_VERIFY, SSL_ERROR_WANT_X509_LOOKUP: return .held
        case SSL_ERROR_SSL:
            let reason = unsafe ERR_reason_error_string(ERR_peek_error()).map { unsafe String(cString: $0) }
            return .failed(isLost: sallyport_is_unexpected_end() == 1, reason: reason ?? "an error of TLS")
        default: return .failed(isLost: true, reason: "the connection ended")
        }
    }

    /// Frees what this type owns, before libcurl frees the rest. The link must not be used afterwards.
    ///
    /// - Parameter isRegular: whether to tell the server that the connection ends.
    func free(isRegular: Bool) {
        guard let ownTLS = unsafe ownTLS else { return }
        if isRegular, unsafe SSL_is_init_finished(ownTLS) == 1 { _ = unsafe SSL_shutdown(ownTLS) }
        sallyport_clear_errors()
        unsafe SSL_free(ownTLS)
    }

    /// Why the connection broke, after ``Outcome/failed``.
    func failure(isHalfClosed: Bool) -> LoadError {
        if handshakes.last(where: \.refusedCertificate) != nil {
            // TLS 1.3 reports it only after the handshake.
            return LoadError(
                .clientCertificateRefused, at: .serverTLS,
                "The peer refused the certificate, or the lack of one (TLS alert).")
        }
        if let alert = handshakes.last?.alert, alert != 0 {
            return LoadError(
                .tlsFailed, at: .response, "The peer ended the connection with TLS alert \(alert).",
                underlying: TLSAlert(description: alert))
        }
        let isRelayAlone = handshakes.last.map { $0.peer != .server } ?? false
        if isRelayAlone && isHalfClosed {
            return LoadError(
                .connectionLost, at: .response,
                "The connection to the relay ended without close_notify behind ours: it may know no half-close.",
                underlying: HalfCloseLost())
        }
        return LoadError(.connectionLost, at: .response, "The connection ended without the server's saying so.")
    }
}

/// A relay without support for half-closed tunnels ended a tunnel after one direction had been ended: the underlying
/// error of ``LoadError/Code/connectionLost``.
package struct HalfCloseLost: Error, Sendable, Hashable {}
