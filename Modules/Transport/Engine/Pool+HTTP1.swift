internal import CCurl
internal import SallyportCore
internal import SallyportLoading

// Exchanges over our own HTTP/1.1 connections, which libcurl opens. On the loop only.
extension Pool {
    /// Whether libcurl only opens the connection for an exchange.
    func speaksHTTP1(for exchange: Exchange, to origin: Origin) -> Bool {
        guard engine != .libcurl else { return false }
        if origin.isSecure {
            return engine == .own || origin.isHTTP1Only || share.protocols.isOneByOne(origin, at: now)
        }
        // Through an HTTP proxy, such requests are in absolute form.
        guard let proxy = configuration.path.proxy?.proxy else { return true }
        return proxy.kind == .socks5
    }

    /// How many exchanges with an origin that has chosen HTTP/1.1 libcurl carries before its connections are replaced
    /// by ours: this saves an app that sends only a few requests another handshake.
    private static var carriedLimit: Int { 8 }
    /// The most origins for which the exchanges that libcurl has carried are counted.
    private static var mostCarried: Int { 4096 }

    /// libcurl is about to send an exchange to an origin that could have one of our connections.
    ///
    /// - Returns: whether the connection is closed afterwards.
    func lastOverTransfer(to origin: Origin) -> Bool {
        // Most origins are visited once or twice, and never again.
        if carried.count >= Self.mostCarried { carried = [:] }
        carried[origin, default: 0] += 1
        return carried[origin, default: 0] >= Self.carriedLimit
    }

    /// Sends over an idle connection.
    ///
    /// - Returns: false if there is none.
    func sendsOverIdleConnection(_ exchange: Exchange, to origin: Origin) -> Bool {
        while let connection = idle.take(to: origin) {
            guard connection.isFresh,
                exchange.maySendAgain ? connection.seemsSilent : connection.hasNothingToRead
            else {
                close(connection)
                continue
            }
            exchange.attempt.connection = connection
            exchange.begins()
            connection.carry(exchange)
            return true
        }
        return false
    }

    /// libcurl has made the connection.
    func connected(_ exchange: Exchange, _ handle: EasyHandle) {
        let attempt = exchange.attempt
        guard let origin = attempt.claim?.origin else { return }
        let descriptor = handle.socket
        let first = handle.firstBytes()
        guard first.bytes.isEmpty else { return spokeFirst(to: exchange, handle) }
        guard descriptor >= 0, let link = TunnelLink(descriptor, attempt.handshakes, hasFailed: first.hasFailed) else {
            return dialAgain(exchange, handle, or: .endedAtOnce(at: attempt.reachedStep))
        }
        takesOver(descriptor, to: origin)
        let connection = HTTP1Connection(link, made: handle, by: exchange, to: origin, in: self)
        handle.release()
        carried[origin] = nil
        (attempt.transfer, attempt.connection) = (nil, connection)
        connection.carry(exchange)
    }

    /// Bytes that came before the request are not its answer (RFC 9112 §9.2).
    func spokeFirst(to exchange: Exchange, _ handle: EasyHandle) { dialAgain(exchange, handle, or: .spokeFirst) }

    /// The new connection cannot carry the exchange, of which nothing was sent. The server has spoken before it was
    /// asked; or libcurl has closed the connection before it was taken over: after the handshake libcurl briefly treats
    /// it as idle, and takes a ticket that arrives meanwhile for the server's end (7.88).
    ///
    /// - Parameter failure: ends the exchange if the same has happened too often.
    private func dialAgain(_ exchange: Exchange, _ handle: EasyHandle, or failure: LoadError) {
        let attempt = exchange.attempt
        attempt.dials += 1
        guard attempt.dials < Attempt.dialLimit else { return end(exchange, failure) }
        handle.release()
        remove(handle)
        attempt.startOver()
        dial(exchange)
    }

    /// Sends a request again over a new connection: the previous connection had been used before, and ended without an
    /// answer (RFC 9112 §9.3.1).
    ///
    /// - Parameter isMove: through another relay, since this one may be the reason.
    /// - Returns: false if the request must not be sent twice.
    func sendsAgain(_ exchange: Exchange, isMove: Bool = false) -> Bool {
        guard exchange.attempt.failure == nil, exchange.rewindBody() else { return false }
        if let connection = takeConnection(from: exchange.attempt) {
            if isMove { noteMove(of: exchange.attempt, from: connection) }
            _ = connection.release()
            close(connection)
        }
        exchange.attempt.startOver()
        dial(exchange)
        return true
    }

    private func takeConnection(from attempt: Attempt) -> HTTP1Connection? {
        defer { attempt.connection = nil }
        return attempt.connection as? HTTP1Connection
    }

    /// Keeps or closes the connection of an exchange that is over.
    ///
    /// - Returns: false if libcurl carried it.
    func releasesConnection(of attempt: Attempt) -> Bool {
        guard let connection = takeConnection(from: attempt) else { return false }
        if connection.release(), !isRetired { keep(connection) } else { close(connection) }
        return true
    }

    /// Servers have long closed what has idled for longest, or soon will.
    private func keep(_ connection: HTTP1Connection) {
        if let displaced = idle.keep(connection) { close(displaced) }
    }

    /// An idle connection has ended, or received unexpected bytes.
    func drop(_ connection: HTTP1Connection) {
        idle.remove(connection)
        close(connection)
    }

    func closeIdleConnections() {
        for connection in idle.removeAll() { close(connection) }
    }

    private func close(_ connection: HTTP1Connection) {
        guard let handle = connection.takeHandle() else { return }
        remove(handle)
        closed(connection.origin)
    }

    var idleHTTP1Connections: [OpenConnection] {
        idle.all.map { connection in
            configuration.path.openConnection(
                to: connection.origin.endpoint, by: connection.relay,
                tlsVersion: connection.tlsFacts.flatMap { TLSVersion(openSSL: $0.version) }, peer: connection.peer)
        }
    }
}

extension LoadError {
    fileprivate static var spokeFirst: LoadError {
        LoadError(.protocolViolation, at: .request, "The server sends bytes before it has the request.")
    }

    fileprivate static func endedAtOnce(at step: LoadError.Step) -> LoadError {
        LoadError(.connectionLost, at: step, "The connection ended at once.")
    }
}
