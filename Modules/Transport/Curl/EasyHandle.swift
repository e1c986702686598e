internal import CCurl
internal import SallyportBase
internal import SallyportCore

/// One of libcurl's transfer handles. All settings of its path are made once; only the differences between two
/// transfers are set again. On the loop only.
@safe
final class EasyHandle {
    /// Receives the callbacks.
    protocol Client: AnyObject {
        func received(headerLine: UnsafeRawBufferPointer) -> Bool
        /// - Returns: how many bytes were taken, or one of libcurl's codes.
        func received(body: UnsafeRawBufferPointer) -> Int
        func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int
        func rewindBody() -> Bool
        /// - Returns: false if no connection may be made to the address; then no socket is opened for it.
        func mayConnect(to address: IPAddress, port: UInt16) -> Bool
        /// - Returns: false if no connection may be made.
        func willConnect(_ descriptor: Int32) -> Bool
        func willHandshake(_ context: OpaquePointer)
        /// - Returns: false if it must not be sent.
        func willSendRequest() -> Bool
    }

    let curl: OpaquePointer
    var client: (any Client)?
    /// The options for the method are those of a GET without a body.
    var isPlain = true
    /// Read by libcurl while a transfer runs.
    private var lines: HeaderLines?
    /// Lines for the proxy that differ between the exchanges of one path.
    private var proxyLines: HeaderLines?
    private let errorText: UnsafeMutablePointer<CChar>

    init(configured configuration: PathConfiguration, sharing share: OpaquePointer, pool: Pool) {
        guard let easy = unsafe curl_easy_init() else { preconditionFailure("libcurl has memory for a handle.") }
        unsafe curl = OpaquePointer(easy)
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe set(CURLOPT_ERRORBUFFER, pointer: errorText)
        unsafe set(CURLOPT_SHARE, pointer: UnsafeMutableRawPointer(share))
        setCallbacks(pool)
        setCommon()
        configuration.apply(to: self)
    }

    deinit {
        unsafe curl_easy_cleanup(UnsafeMutableRawPointer(curl))
        unsafe errorText.deallocate()
    }

    /// libcurl's message for the last failure. It may contain the host, but nothing that was sent.
    var errorMessage: String { unsafe String(cString: errorText) }

    // MARK: Options

    var raw: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(curl) }

    func set(_ option: CURLoption, _ value: Int) { _ = unsafe sallyport_set_long(raw, option, value) }
    /// Sets a time of at least a millisecond.
    func set(_ option: CURLoption, _ time: Duration) { set(option, time.curlMilliseconds) }
    func set(_ option: CURLoption, _ value: String) {
        _ = unsafe value.withCString { unsafe sallyport_set_text(raw, option, $0) }
    }
    func setNothing(_ option: CURLoption) { _ = unsafe sallyport_set_pointer(raw, option, nil) }
    func set(_ option: CURLoption, offset: Int64) { _ = unsafe sallyport_set_offset(raw, option, curl_off_t(offset)) }
    func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
        _ = unsafe sallyport_set_pointer(raw, option, pointer)
    }
    func set(_ option: CURLoption, blob: [UInt8]) {
        _ = unsafe blob.withUnsafeBytes { unsafe sallyport_set_blob(raw, option, $0.baseAddress, $0.count) }
    }

    func setLines(_ lines: HeaderLines?) {
        unsafe set(CURLOPT_HTTPHEADER, pointer: lines.map { unsafe UnsafeMutableRawPointer($0.list) })
        self.lines = lines
    }

    func setProxyLines(_ lines: HeaderLines?) {
        guard let lines else { return }
        unsafe set(CURLOPT_PROXYHEADER, pointer: UnsafeMutableRawPointer(lines.list))
        proxyLines = lines
    }

    /// Makes libcurl go on with a transfer for which it watches no socket and has set no timer: it looks at each transfer
    /// whose pause has ended.
    func goOn() {
        for pauses in [CURLPAUSE_RECV, CURLPAUSE_CONT] { _ = unsafe curl_easy_pause(raw, pauses) }
    }

    /// Ends the work for a client, whose lines may have a credential. The next transfer sets its own.
    func release() { (client, lines, proxyLines) = (nil, nil, nil) }

    func long(_ info: CURLINFO) -> Int { unsafe sallyport_get_long(raw, info) }
    func text(_ info: CURLINFO) -> String {
        unsafe sallyport_get_text(raw, info).map { unsafe String(cString: $0) } ?? ""
    }
    func microseconds(_ info: CURLINFO) -> Duration { unsafe .microseconds(sallyport_get_offset(raw, info)) }
    var socket: Int32 { unsafe sallyport_get_socket(raw) }

    /// Whether its transfer may go over the connection with this port on our side. libcurl knows the port of a transfer
    /// from the moment before its request is sent, on an earlier transfer's connection too.
    func mayHave(localPort port: UInt16?) -> Bool {
        let own = long(CURLINFO_LOCAL_PORT)
        return own == 0 || port == nil || own == port.map(Int.init)
    }

    private func setCallbacks(_ pool: Pool) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe set(CURLOPT_PRIVATE, pointer: context)
        for data in [
            CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA,
            CURLOPT_OPENSOCKETDATA, CURLOPT_SSL_CTX_DATA, CURLOPT_PREREQDATA,
        ] {
            unsafe set(data, pointer: context)
        }
        // The connection stores this pointer, and outlives the handle.
        unsafe set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(pool).toOpaque())
        _ = unsafe sallyport_set_data(raw, CURLOPT_WRITEFUNCTION, takeBody)
        _ = unsafe sallyport_set_data(raw, CURLOPT_HEADERFUNCTION, takeHeader)
        _ = unsafe sallyport_set_data(raw, CURLOPT_READFUNCTION, giveBody)
        _ = unsafe sallyport_set_seek(raw, seekBody)
        _ = unsafe sallyport_set_opensocket(raw, openSocket)
        _ = unsafe sallyport_set_closesocket(raw, closeSocket)
        _ = unsafe sallyport_set_prerequest(raw, beforeRequest)
        _ = unsafe sallyport_set_ssl_context(raw, beforeHandshake)
    }

    /// The settings of every path: nothing from the environment, no redirects, no credentials of libcurl's own.
    private func setCommon() {
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_NOPROXY, "")
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        // A transfer that ends while its name is looked up leaves the resolver's thread to itself. Otherwise libcurl waits
        // for that thread, and with it the whole loop: for as long as a silent name server is asked.
        set(CURLOPT_QUICK_EXIT, 1)
        // libcurl frees its buffer between transfers; from 64 KiB on, that makes malloc consolidate its whole heap each
        // time.
        set(CURLOPT_BUFFERSIZE, 48 << 10)
    }
}

extension Duration {
    /// The whole milliseconds, as many as libcurl takes and may add to others: at most 12 days. It refuses more than an
    /// `int` holds and keeps its default, and zero stands for that default.
    var curlMilliseconds: Int { Int(min(max(1, wholeMilliseconds), 1 << 30)) }
}

// MARK: Callbacks

@inline(__always)
private func handle(_ context: UnsafeMutableRawPointer?) -> EasyHandle? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
}

private func takeBody(
    _ data: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let client = unsafe handle(context)?.client else { return 0 }
    return unsafe client.received(body: UnsafeRawBufferPointer(start: data, count: size * count))
}

private func takeHeader(
    _ data: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let client = unsafe handle(context)?.client else { return 0 }
    let isTaken = unsafe client.received(headerLine: UnsafeRawBufferPointer(start: data, count: size * count))
    return isTaken ? size * count : 0
}

private func giveBody(
    _ data: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let client = unsafe handle(context)?.client else { return Int(CURL_READFUNC_ABORT) }
    return unsafe client.fill(UnsafeMutableRawBufferPointer(start: data, count: size * count))
}

private func seekBody(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    guard let client = unsafe handle(context)?.client, offset == 0, origin == 0, client.rewindBody() else {
        return CURL_SEEKFUNC_FAIL
    }
    return CURL_SEEKFUNC_OK
}

private func beforeRequest(
    _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?, _: UnsafeMutablePointer<CChar>?, _: Int32,
    _: Int32
) -> Int32 {
    guard let client = unsafe handle(context)?.client else { return CURL_PREREQFUNC_ABORT }
    return client.willSendRequest() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

private func beforeHandshake(
    _: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ data: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let context = unsafe context, let client = unsafe handle(data)?.client else {
        return CURLE_ABORTED_BY_CALLBACK
    }
    unsafe client.willHandshake(OpaquePointer(context))
    return CURLE_OK
}
