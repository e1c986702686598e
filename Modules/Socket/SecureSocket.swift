internal import SallyportBase
public import SallyportCore
internal import SallyportTransport

/// The documented socket: five states, four callbacks, and two buffers.
///
/// Sending takes two steps: bytes are appended to ``writeStream``, and ``write()`` sends what lies there. What comes is put
/// into ``readStream``, and the delegate is told. Which call is allowed when is the table of `Docs/Socket.md`; a call that
/// is not throws and changes nothing. Releasing a socket resets its connection.
///
/// ```swift
/// let socket = try sallyport.sockets.socket(host: "chat.corp.example", port: 7000, isSecure: true)
/// socket.delegate = chat
/// try socket.connect()
/// ```
///
/// TLS is spoken from the start or not at all; its versions, the console's blocks and the trust are those of URL loading.
/// A security error counts as a failed connection: ``SocketError/cause`` tells it apart.
public final class SecureSocket: Sendable {
    public var endpoint: Endpoint { target.endpoint }
    /// Whether TLS is spoken with the server.
    public var isSecure: Bool { target.isSecure }
    /// The outbound buffer: what ``write()`` sends. Appending to it sends nothing.
    public let writeStream: DirectByteBuffer
    /// The inbound buffer: what came and was not consumed. While it is full, nothing more is read from the server.
    public let readStream: DirectByteBuffer

    private let target: SocketTarget
    private let system: SocketSystem
    private let state: Lock<State>

    private struct State {
        var machine: SocketStateMachine
        weak var delegate: (any SocketDelegate)?
        var connection: SocketConnection?
        var task: Task<Void, Never>?
    }

    init(_ target: SocketTarget, of system: SocketSystem) {
        self.target = target
        self.system = system
        writeStream = DirectByteBuffer(limit: target.configuration.outboundLimit)
        readStream = DirectByteBuffer(limit: target.configuration.inboundLimit)
        state = Lock(State(machine: SocketStateMachine(disabled: target.configuration.disabled)))
    }

    deinit {
        let (task, connection) = state.withLock { ($0.task, $0.connection) }
        task?.cancel()
        connection?.close()
    }

    /// Told what happens; not kept.
    public var delegate: (any SocketDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    public var socketState: SocketState { state.withLock { $0.machine.state } }

    /// Who is at the other end; nil where the socket is neither open nor disconnecting.
    public var peer: PeerFacts? { state.withLock { $0.connection }?.peer }

    // MARK: Before connecting

    /// Takes a certificate that is for another host. Who issued it is still checked.
    ///
    /// - Throws: `wrongState` but in ``SocketState/prepared``, `finished`.
    public func disableHostVerification() throws(SocketError) { try call(.disableHostVerification) }

    /// Takes any certificate, for any host: whoever stands between can read and change everything.
    ///
    /// - Throws: as ``disableHostVerification()``; `invalidRequest` where the server is known by its key
    ///   (``SocketConfiguration/pin(to:backups:)``).
    public func disablePeerVerification() throws(SocketError) {
        try checkUnpinned([.peer])
        try call(.disablePeerVerification)
    }

    private func checkUnpinned(_ checks: Set<VerificationCheck>) throws(SocketError) {
        guard checks.contains(.peer), target.configuration.pins != nil else { return }
        throw SocketError(.invalidRequest, "A server that is known by its key is always verified.")
    }

    // MARK: Connecting

    /// Connects; the delegate is told how that went. What an earlier connection left in ``readStream`` is dropped.
    ///
    /// - Throws: `wrongState` but in ``SocketState/prepared`` and ``SocketState/disconnected``, `finished`;
    ///   `notAuthorized` and `withdrawn`, with no change of state.
    public func connect() throws(SocketError) {
        try state.withLock { $0.machine }.check(.connect)
        try system.checkAuthorized()
        let machine = try call(.connect)
        readStream.clear()
        var configuration = target.configuration
        configuration.disabled = machine.disabled
        let target = SocketTarget(endpoint: endpoint, isSecure: isSecure, configuration: configuration)
        let run = SocketRun(self, machine.attempt, target, system)
        let task = Task { await run.run() }
        state.withLock { $0.task = task }
    }

    /// A second attempt after a connection that failed: a socket with the same address, settings and delegate, in
    /// ``SocketState/prepared``, that does not make these checks, nor those that this one did not make.
    ///
    /// - Throws: `wrongState` where no connection has failed; `invalidRequest` as ``disablePeerVerification()``.
    public func retrying(disabling checks: Set<VerificationCheck>) throws(SocketError) -> SecureSocket {
        let machine = try call(.retrying)
        try checkUnpinned(checks)
        var configuration = target.configuration
        configuration.disabled = machine.disabled.union(checks)
        let socket = SecureSocket(
            SocketTarget(endpoint: endpoint, isSecure: isSecure, configuration: configuration), of: system)
        socket.delegate = delegate
        return socket
    }

    // MARK: Connected

    /// Sends what lies in ``writeStream``. By one task at a time.
    ///
    /// - Throws: `wrongState` but in ``SocketState/open``, `finished`; `bufferFull`, and nothing is taken from the buffer,
    ///   where with it more than ``SocketConfiguration/outboundLimit`` would wait to be sent.
    public func write() throws(SocketError) {
        let connection = try callConnected(.write)
        let room = target.configuration.outboundLimit.octets - connection.tunnel.unsentOctets
        guard let bytes = writeStream.takeAll(upTo: room) else {
            throw SocketError(.bufferFull, "The server takes no more now.")
        }
        connection.tunnel.send(bytes)
    }

    /// Ends our side once all is sent; the delegate is told when the server has ended its own, or
    /// ``SocketConfiguration/closeTimeout`` later. Bytes may come until then.
    ///
    /// - Throws: `wrongState` but in ``SocketState/open``, `finished`.
    public func disconnect() throws(SocketError) {
        let connection = try callConnected(.disconnect)
        connection.finish()
        readStream.stir()
    }

    private func callConnected(_ call: SocketCall) throws(SocketError) -> SocketConnection {
        let connection = try state.withLock { state throws(SocketError) in
            try state.machine.called(call)
            return state.connection
        }
        guard let connection else { preconditionFailure("A socket that is open has its connection.") }
        return connection
    }

    /// - Returns: the machine after the call.
    @discardableResult
    private func call(_ call: SocketCall) throws(SocketError) -> SocketStateMachine {
        try state.withLock { state throws(SocketError) in
            try state.machine.called(call)
            return state.machine
        }
    }
}

// MARK: What happens

extension SecureSocket {
    /// - Parameter connection: of ``SocketEvent/opened``.
    func happened(_ event: SocketEvent, in attempt: Int, _ connection: SocketConnection? = nil) -> SocketCallback? {
        state.withLock { state in
            let callback = state.machine.happened(event, in: attempt)
            if callback == .onOpen { state.connection = connection }
            if callback == .onClose { state.connection = nil }
            return callback
        }
    }

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
