internal import CCurl
internal import COpenSSL
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// The TLS version and cipher suite of a connection.
struct TLSFacts {
    var version: String
    var cipher: String?

    /// - Parameter connection: a connection whose handshake is over; nil if it has none.
    init?(_ connection: OpaquePointer) {
        guard let name = unsafe SSL_get_version(connection) else { return nil }
        unsafe version = String(cString: name)
        let suite = unsafe SSL_get_current_cipher(connection).flatMap { unsafe SSL_CIPHER_standard_name($0) }
        unsafe cipher = suite.map { unsafe String(cString: $0) }
    }
}

extension TLSVersion {
    /// - Parameter name: the version as `SSL_get_version` names it.
    init?(openSSL name: String) {
        switch name {
        case "TLSv1": self = .tls10
        case "TLSv1.1": self = .tls11
        case "TLSv1.2": self = .tls12
        case "TLSv1.3": self = .tls13
        default: return nil
        }
    }
}

extension EasyHandle {
    /// The address and port that the connection leads to; nil before it is open.
    var peer: Endpoint? {
        guard let address = IPAddress(text(CURLINFO_PRIMARY_IP)) else { return nil }
        return try? Endpoint(
            host: .address(address), port: UInt16(truncatingIfNeeded: long(CURLINFO_PRIMARY_PORT)))
    }

    /// For the connection with the server; nil if it has no TLS. Only while the transfer has its connection.
    var tlsFacts: TLSFacts? { unsafe sallyport_get_tls(raw).flatMap { unsafe TLSFacts(OpaquePointer($0)) } }

    /// That of the connection's TLS, the innermost if there are two; nil if it has none. Only while the transfer has its
    /// connection.
    var handshake: HandshakeRecord? {
        unsafe sallyport_get_tls(raw).flatMap { unsafe HandshakeRecord.of(OpaquePointer($0)) }
    }

    var sentBytes: LoadRecord.Bytes {
        var bytes = LoadRecord.Bytes()
        bytes.head = long(CURLINFO_REQUEST_SIZE)
        bytes.body = offset(CURLINFO_SIZE_UPLOAD_T)
        return bytes
    }

    var receivedBytes: LoadRecord.Bytes {
        var bytes = LoadRecord.Bytes()
        bytes.head = long(CURLINFO_HEADER_SIZE)
        bytes.body = offset(CURLINFO_SIZE_DOWNLOAD_T)
        return bytes
    }

    private func offset(_ info: CURLINFO) -> Int { unsafe Int(sallyport_get_offset(raw, info)) }
}

extension LoopInstant {
    func elapsed(since start: LoopInstant) -> Duration { .nanoseconds(nanoseconds - start.nanoseconds) }
}

extension Attempt {
    /// The connection's addresses and its route.
    func connectionFacts(_ handle: EasyHandle, proxy: ProxyAccess?) -> ConnectionFacts {
        var facts = ConnectionFacts()
        facts.remoteAddress = handle.text(CURLINFO_PRIMARY_IP)
        facts.remotePort = UInt16(truncatingIfNeeded: handle.long(CURLINFO_PRIMARY_PORT))
        facts.localAddress = handle.text(CURLINFO_LOCAL_IP)
        facts.relay = relays.first
        facts.proxy = proxy.map { "\($0.proxy)" }
        facts.proxyStatus = relayAnswer.proxyStatus
        return facts
    }

    func elapsed(until instant: LoopInstant) -> Duration { instant.elapsed(since: start) }

    /// When the last dial began, counted from the start of the attempt; zero if there was none.
    var dialTime: Duration { dialed == .never ? .zero : elapsed(until: dialed) }

    /// The instant at which the last dial had taken this long, counted from the start of the attempt; zero for zero.
    private func instant(afterDialing time: Duration) -> Duration { time > .zero ? dialTime + time : .zero }

    /// When the phases of connecting were done, counted from the start of the attempt.
    func tellConnecting(to timing: inout ExchangeTiming, _ handle: EasyHandle, isDirect: Bool) {
        timing.nameLookup = instant(afterDialing: lookupTime(handle))
        timing.connect = instant(afterDialing: connectTime(handle))
        tellHandshakes(to: &timing, isDirect: isDirect)
    }

    /// By our own clock, since libcurl does not separate the handshake with relay or proxy from what follows it, and
    /// counts from a later start.
    private func tellHandshakes(to timing: inout ExchangeTiming, isDirect: Bool) {
        let inner = serverHandshake
        if let agreed = inner?.agreed { timing.secured = elapsed(until: agreed) }
        guard !isDirect else { return }
        if let outer = handshakes.first, outer.peer != .server, let agreed = outer.agreed {
            timing.relaySecured = elapsed(until: agreed)
        }
        if let inner { timing.relayAnswered = elapsed(until: inner.start) }
    }
}
