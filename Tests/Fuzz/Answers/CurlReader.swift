import CCurl
import Glibc

/// libcurl: a whole transfer over a connection that keeps the borders of the pieces. Not for several threads.
///
/// The answer lies there before the request is sent, and with it the other end has said that nothing more comes.
package final class CurlReader {
    private var easy: UnsafeMutableRawPointer
    /// Of the transfer that goes on.
    fileprivate var sockets = Sockets()
    private var pieces: [ArraySlice<UInt8>] = []
    fileprivate var body: [UInt8] = []
    private let listener = PieceListener()

    package struct Outcome {
        package var reading: Reading
        /// Bytes that were not read from the connection.
        package var unread = 0
        package var keepsConnection = false
    }

    package init() {
        easy = Self.makeHandle()
        configure()
    }

    deinit { curl_easy_cleanup(easy) }

    private static func makeHandle() -> UnsafeMutableRawPointer {
        guard let easy = curl_easy_init() else { fatalError("libcurl has no memory for a handle.") }
        return easy
    }

    private func configure() {
        for option in [CURLOPT_WRITEDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_CLOSESOCKETDATA, CURLOPT_PREREQDATA] {
            _ = sallyport_set_pointer(easy, option, Unmanaged.passUnretained(self).toOpaque())
        }
        _ = sallyport_set_data(easy, CURLOPT_WRITEFUNCTION, takeBody)
        _ = sallyport_set_opensocket(easy, openSocket)
        _ = sallyport_set_closesocket(easy, closeSocket)
        _ = sallyport_set_prerequest(easy, beforeRequest)
        for (option, value) in [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_FRESH_CONNECT, 1), (CURLOPT_TIMEOUT_MS, 10_000), (CURLOPT_TCP_NODELAY, 0),
            (CURLOPT_HTTP_CONTENT_DECODING, 0), (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
        ] {
            _ = sallyport_set_long(easy, option, value)
        }
        _ = sallyport_set_text(easy, CURLOPT_URL, "http://127.0.0.1/")
        _ = sallyport_set_text(easy, CURLOPT_PROXY, "")
    }

    /// A handle of libcurl's before 8.1.0 must not read a second answer: see `CurlLibrary.handlesServeAgain`.
    private func renew() {
        curl_easy_cleanup(easy)
        easy = Self.makeHandle()
        configure()
    }

    package func read(_ pieces: [ArraySlice<UInt8>], isHead: Bool) -> Outcome {
        renew()
        sockets = Sockets()
        self.pieces = pieces
        body = []
        _ = sallyport_set_long(easy, isHead ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1)
        let code = curl_easy_perform(easy)
        // The far end stays open until here: the request must not meet a closed one.
        sockets.measure()
        defer { sockets.close() }
        guard code == CURLE_OK else {
            return Outcome(reading: .refused("libcurl \(code.rawValue): \(String(cString: curl_easy_strerror(code)))"))
        }
        return Outcome(
            reading: .whole(answer, end: nil), unread: sockets.unread, keepsConnection: sockets.near >= 0)
    }

    private var answer: Answer {
        Answer(
            status: sallyport_get_long(easy, CURLINFO_RESPONSE_CODE), fields: fields(CURLH_HEADER), body: body,
            trailers: fields(CURLH_TRAILER))
    }

    private func fields(_ origin: Int32) -> [Answer.Field] {
        var fields: [Answer.Field] = []
        var field: UnsafeMutablePointer<curl_header>?
        while let next = curl_easy_nextheader(easy, UInt32(origin), -1, field) {
            let (name, value) = (next.pointee.name, next.pointee.value)
            // Of an empty value, libcurl takes the line break for one (7.88).
            let text = Self.bytes(value)
            fields.append(Answer.Field(name: Self.bytes(name), value: text == [13] || text == [10] ? [] : text))
            field = next
        }
        return fields
    }

    private static func bytes(_ text: UnsafePointer<CChar>?) -> [UInt8] {
        guard let text else { return [] }
        return Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }

    /// The ends of one connection: the near one is libcurl's.
    fileprivate struct Sockets {
        var near: Int32 = -1
        var far: Int32 = -1
        private(set) var unread = 0

        /// Sends the answer to the near end, and says that nothing more comes.
        mutating func connected(_ far: Int32, answer pieces: [ArraySlice<UInt8>]) {
            self.far = far
            for piece in pieces {
                let count = piece.withUnsafeBytes { send(far, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) }
                guard count == piece.count else { fatalError("An answer is longer than the sockets hold.") }
            }
            shutdown(far, Int32(SHUT_WR))
        }

        /// Counts what lies unread at the near end, while that is open.
        mutating func measure() {
            var buffer = [UInt8](repeating: 0, count: 16 << 10)
            while near >= 0 {
                let count = recv(near, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return }
                unread += count
            }
        }

        mutating func nearIsClosed() {
            measure()
            near = -1
        }

        /// A near end that libcurl keeps is its own.
        func close() { _ = Glibc.close(far) }
    }

    fileprivate func opens(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        sockets.near = socket(AF_UNIX, listener.kind, 0)
        listener.write(to: address)
        return sockets.near
    }

    fileprivate func isConnected() { sockets.connected(listener.accept(), answer: pieces) }

    fileprivate func closes(_ descriptor: curl_socket_t) -> Int32 {
        if descriptor == sockets.near { sockets.nearIsClosed() }
        return close(descriptor)
    }
}

// MARK: Callbacks

private func reader(_ context: UnsafeMutableRawPointer?) -> CurlReader? {
    context.map { Unmanaged<CurlReader>.fromOpaque($0).takeUnretainedValue() }
}

private func takeBody(
    _ data: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    reader(context)?.body += UnsafeRawBufferPointer(start: data, count: size * count)
    return size * count
}

private func openSocket(
    _ context: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let reader = reader(context), let address else { return -1 }
    return reader.opens(address)
}

private func beforeRequest(
    _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?, _: UnsafeMutablePointer<CChar>?, _: Int32,
    _: Int32
) -> Int32 {
    reader(context)?.isConnected()
    return CURL_PREREQFUNC_OK
}

private func closeSocket(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
    reader(context)?.closes(descriptor) ?? 0
}
