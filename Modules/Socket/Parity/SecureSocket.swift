internal import SallyportBase
public import SallyportCore
public import SallyportLoading

/// A socket with a delegate: five states, four callbacks and two buffers.
///
/// Sending takes two steps: the app appends bytes to ``writeStream``, and ``write()`` sends them. Received bytes are
/// put into ``readStream``, and the delegate is told. The table in `Docs/Socket.md` says which call is allowed in which
/// state; any other call throws and changes nothing. Releasing a socket resets its connection.
///
/// An actor: it may be called from anywhere, and each call is atomic. Callbacks come one at a time, outside of the actor.
///
/// ```swift
/// let socket = try sallyport.sockets.socket(host: "chat.corp.example", port: 7000, isSecure: true, delegate: chat)
/// try await socket.connect()
/// ```
///
/// TLS is used from the start or not at all. Its versions and the trust are those of URL loading, including the
/// versions that the administrator blocks. A security error counts as a failed connection; ``SocketError/cause`` tells
/// them apart.
public actor SecureSocket {
    /// The server; it stays the same for the socket's whole life.
    public nonisolated var endpoint: Endpoint { target.endpoint }
    /// Whether the connection to the server uses TLS.
    public nonisolated var isSecure: Bool { target.isSecure }
    /// The outbound buffer: what ``write()`` sends. Appending to it sends nothing.
    public nonisolated var writeStream: DirectByteBuffer { DirectByteBuffer(socket: self, side: .outbound) }
    /// The inbound buffer: what came and was not consumed. While it is full, nothing more is read from the server.
    public nonisolated var readStream: DirectByteBuffer { DirectByteBuffer(socket: self, side: .inbound) }

    private nonisolated let target: SocketTarget
    private nonisolated let system: SocketSystem
    private var machine: SocketStateMachine
    private var inbound: ByteQueue
    /// The period in which the last connection was opened. Kept after its end, so that bytes are dropped too that were
    /// on their way to the socket then.
    private var period: AccessPeriod?
    private var outbound: ByteQueue
    private var stream: ByteStream?
    private var run: SocketRun.Handle?
    /// The delegate that receives the callbacks; held weakly.
    public private(set) weak var delegate: (any SocketDelegate)?

    init(_ target: SocketTarget, of system: SocketSystem, delegate: (any SocketDelegate)? = nil) {
        self.target = target
        self.system = system
        self.delegate = delegate
        inbound = ByteQueue(limit: target.configuration.inboundLimit.bytes)
        outbound = ByteQueue(limit: target.configuration.outboundLimit.bytes)
        machine = SocketStateMachine(disabled: target.configuration.disabled)
    }

    deinit {
        run?.cancel()
        stream?.reset()
    }

    /// Sets the delegate that receives later callbacks, held weakly; nil for none. Callbacks without a delegate are
    /// dropped.
    public func setDelegate(_ delegate: (any SocketDelegate)?) { self.delegate = delegate }

    /// The state now. A socket that could not connect stays in ``SocketState/connecting``, and refuses every call
    /// except ``retrying(disabling:)`` with `finished`.
    public var socketState: SocketState { machine.state }

    /// The address and TLS state of the connection; nil unless the socket is open or disconnecting.
    public var peer: StreamFacts? { stream?.facts }

    // MARK: Before connecting

    /// Accepts a certificate issued for another host name. Its issuer is still verified.
    ///
    /// - Throws: `wrongState` in any state other than ``SocketState/prepared``, `finished`.
    public func disableHostVerification() throws(SocketError) { try machine.called(.disableHostVerification) }

    /// Accepts any certificate, for any host: an attacker on the network can then read and change everything.
    ///
    /// - Throws: as ``disableHostVerification()``; `invalidRequest` if the server's key is pinned
    ///   (``SocketConfiguration/pin(to:backups:)``).
    public func disablePeerVerification() throws(SocketError) {
        try checkUnpinned([.peer])
        try machine.called(.disablePeerVerification)
    }

    private func checkUnpinned(_ checks: Set<VerificationCheck>) throws(SocketError) {
        guard checks.contains(.peer), target.configuration.pins != nil else { return }
        throw SocketError(.invalidRequest, "A server that is known by its key is always verified.")
    }

    // MARK: Connecting

    /// Connects and reports the result to the delegate. Discards what an earlier connection left in ``readStream``.
    /// If the delegate's `onClose` for that one still runs, the new connection is begun when it has returned.
    ///
    /// - Throws: `wrongState` in any state other than ``SocketState/prepared`` and ``SocketState/disconnected``,
    ///   `finished`; `notAuthorized` and `withdrawn`, with no change of state.
    public func connect() throws(SocketError) {
        try machine.check(.connect)
        try system.checkAuthorized()
        try machine.called(.connect)
        inbound.clear()
        run = SocketRun.begin(for: self, machine.attempt, target.disabling(machine.disabled), system, after: run)
    }

    /// Prepares a second attempt after a failed connection: a new socket with the same address, settings and delegate,
    /// in ``SocketState/prepared``, without these checks and without those that were already disabled here.
    ///
    /// - Throws: `wrongState` if no connection has failed; `invalidRequest` as ``disablePeerVerification()``.
    public func retrying(disabling checks: Set<VerificationCheck>) throws(SocketError) -> SecureSocket {
        try machine.called(.retrying)
        try checkUnpinned(checks)
        return SecureSocket(target.disabling(machine.disabled.union(checks)), of: system, delegate: delegate)
    }

    // MARK: Connected

    /// Sends the bytes in ``writeStream``.
    ///
    /// - Throws: `wrongState` in any state other than ``SocketState/open``, `finished`; `bufferFull`, without taking
    ///   anything from the buffer, if more than ``SocketConfiguration/outboundLimit`` would then wait to be sent.
    public func write() throws(SocketError) {
        let channel = try connected(for: .write).channel
        guard outbound.count + channel.unsentBytes <= outbound.limit else {
            throw SocketError(.bufferFull, "The outbound buffer is full.")
        }
        channel.send(outbound.take())
    }

    /// Ends our side once everything is sent. The delegate is called when the server has ended its side, or after
    /// ``SocketConfiguration/closeTimeout``. Bytes may arrive until then.
    ///
    /// - Throws: `wrongState` in any state other than ``SocketState/open``, `finished`.
    public func disconnect() throws(SocketError) {
        try connected(for: .disconnect).finish()
        run?.stir()
    }

    private func connected(for call: SocketCall) throws(SocketError) -> ByteStream {
        try machine.called(call)
        guard let stream else { preconditionFailure("A socket that is open has its connection.") }
        return stream
    }
}

// MARK: Buffers

extension SecureSocket {
    nonisolated func limit(of side: DirectByteBuffer.Side) -> ByteCount {
        side == .inbound ? target.configuration.inboundLimit : target.configuration.outboundLimit
    }

    func count(of side: DirectByteBuffer.Side) -> Int {
        dropWithdrawn()
        return side == .inbound ? inbound.count : outbound.count
    }

    func append(_ bytes: some Collection<UInt8> & Sendable, to side: DirectByteBuffer.Side) -> Bool {
        side == .inbound ? inbound.append(bytes) : outbound.append(bytes)
    }

    func take(upTo limit: Int, from side: DirectByteBuffer.Side) -> [UInt8] {
        guard side == .inbound else { return outbound.take(upTo: limit) }
        dropWithdrawn()
        defer { stirIfRoom() }
        return inbound.take(upTo: limit)
    }

    func takeText(from side: DirectByteBuffer.Side) -> String? {
        guard side == .inbound else { return outbound.takeText() }
        dropWithdrawn()
        defer { stirIfRoom() }
        return inbound.takeText()
    }

    /// A withdrawal drops what was not read, even if the connection had come to its regular end before.
    private func dropWithdrawn() {
        guard let period, period.isOver else { return }
        inbound.clear()
        run?.stir()
    }

    private func stirIfRoom() { if !inbound.isFull { run?.stir() } }
}

// MARK: Events

extension SecureSocket {
    /// - Parameter stream: the stream of ``SocketEvent/opened``.
    func happened(_ event: SocketEvent, in attempt: Int, _ stream: ByteStream? = nil) -> SocketCallback? {
        let callback = machine.happened(event, in: attempt)
        dropWithdrawn()
        if callback == .onOpen { (self.stream, period) = (stream, stream?.period) }
        if callback == .onClose { self.stream = nil }
        return callback
    }

    /// - Parameter attempt: the number of the connection over which the bytes came.
    func received(_ bytes: [UInt8], in attempt: Int) -> SocketCallback? {
        let callback = machine.happened(.received, in: attempt)
        if callback != nil { inbound.fill(bytes) }
        // There may have been a withdrawal since the stream passed them on.
        dropWithdrawn()
        return callback
    }

    /// The state in which the connection waits for room in the buffer; nil if there is room.
    var stateWithoutRoom: SocketState? { inbound.isFull ? machine.state : nil }

    func tell(_ callback: SocketCallback, _ error: SocketError?) async {
        guard let delegate else { return }
        switch callback {
        case .onOpen: await delegate.onOpen(self)
        case .onRead: await delegate.onRead(self)
        case .onClose: await delegate.onClose(self)
        case .onErr: if let error { await delegate.onErr(error, self) }
        }
    }
}
