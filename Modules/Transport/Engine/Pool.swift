internal import CCurl
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// The connections of one path: one of libcurl's multi handles. On the loop only.
///
/// Teardown: first the members, then the multi handle (its callbacks still use the pool), then the handles.
@safe
final class Pool: DescriptorHandler, TurnObserver {
    /// The most idle connections that are kept, for all hosts of the path.
    private static let maximumConnections = 512
    /// The most idle handles that are kept.
    private static let maximumHandles = 64
    /// The most tasks whose answers wait for each other.
    private static let maximumAnswers = 32

    let configuration: PathConfiguration
    /// Whether exchanges share connections if the server speaks HTTP/2.
    private let isMultiplexing: Bool
    let loop: EventLoop
    /// Notices relays that fall silent, while a member has another one to turn to; nil for a path without relays.
    private(set) lazy var relayWatch = failover.map { _ in RelayWatch(pool: self) }
    /// Is told of a relay from which a member has heard nothing for a while.
    var suspects: ((Endpoint, RelayAccess) -> Void)?
    /// Accepts no new exchange, and is released with its last member.
    private(set) var isRetired = false
    private(set) var isClosed = false
    /// Something began since the last sweep.
    private var wasUsed = true
    /// Called when a connection that broke through a relay was added to the losses of the loop, which are given to
    /// ``tell(_:)`` once the reason may be known. If nil, losses are reported at once.
    var whenLost: (@Sendable () -> Void)?
    /// The connection of a path with one owner, as ``ConnectionFacts/number`` names it; nil before the first one.
    var connectionNumber: UInt64?

    private let multi: UnsafeMutableRawPointer
    private let sessions: OpaquePointer
    private var idleHandles: [EasyHandle] = []
    /// Our own idle connections.
    var idle: IdleConnections<HTTP1Connection>
    /// For each origin whose server has chosen HTTP/1.1: how many exchanges libcurl has carried since.
    var carried: [Origin: Int] = [:]
    let engine: HTTP1Engine
    let share: LoopShare
    private(set) var members = PoolMembers()
    private var origins = OriginQueue()
    private var signalled: [any PoolMember] = []
    private var answered: [Exchange] = []
    private var waitsForTurn = false
    private var isCurlDue = false
    private var curlDeadline = LoopInstant.never
    private var armed = LoopInstant.never
    private lazy var timer = LoopTimer { [unowned self] in timerFired() }
    /// Idle connections stay in epoll, so that using them again needs no system call.
    private var sockets = CurlSockets()
    let watchdog = Watchdog()
    private var turnTime: LoopInstant?

    init(
        _ path: ConnectionPath, isMultiplexing: Bool, engine: HTTP1Engine, sharing share: LoopShare,
        on loop: EventLoop
    ) {
        self.loop = loop
        self.share = share
        self.engine = engine
        idle = IdleConnections(limit: path.owner == nil ? Self.maximumConnections : 1)
        self.isMultiplexing = isMultiplexing
        configuration = PathConfiguration(path)
        guard let multi = unsafe curl_multi_init(), let sessions = unsafe curl_share_init() else {
            preconditionFailure("libcurl has memory for a pool.")
        }
        unsafe self.multi = unsafe multi
        unsafe self.sessions = OpaquePointer(sessions)
        _ = unsafe sallyport_share_sessions(sessions)
        let connections = path.owner == nil ? Self.maximumConnections : 1
        _ = unsafe sallyport_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connections)
        let pipelining = isMultiplexing ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING
        _ = unsafe sallyport_multi_set_long(multi, CURLMOPT_PIPELINING, Int(pipelining))
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        _ = unsafe sallyport_multi_set_callbacks(multi, socketChanged, timerChanged, context)
        watchdog.guards(self)
    }

    func isOf(_ path: ConnectionPath, isMultiplexing: Bool) -> Bool {
        self.isMultiplexing == isMultiplexing && configuration.path.isIdentical(to: path)
    }

    /// Accepts no new member, and frees the connections once the last one has ended.
    func retire() {
        isRetired = true
        closeIdleConnections()
        closeIfDone()
    }

    /// Frees the connections. Never called inside a libcurl call.
    private func closeIfDone() {
        guard isRetired, members.isEmpty, !isClosed else { return }
        isClosed = true
        loop.set(timer, at: nil)
        watchdog.stop()
        relayWatch?.stop()
        unsafe curl_multi_cleanup(multi)
        idleHandles = []
        let shareCode = unsafe curl_share_cleanup(UnsafeMutableRawPointer(sessions))
        assert(shareCode == CURLSHE_OK, "A closed pool's handles must have been released.")
    }

    /// Whether nothing happened since the last call.
    func takeIdleness() -> Bool {
        defer { wasUsed = false }
        return !wasUsed && members.isEmpty
    }

    var allMembers: [any PoolMember] { members.all }

    /// The connection that a member has or waits for, for a policy's decision.
    func openConnection(of member: any PoolMember) -> OpenConnection {
        let path = configuration.path
        return path.openConnection(
            to: member.attempt.endpoint, by: path.relay == nil ? nil : relay(of: member.attempt),
            tlsVersion: member.tlsVersion, peer: member.attempt.connection?.peer)
    }

    /// The connections that no member uses. For those with TLS, the lowest version that the path offers is assumed.
    var idleConnections: [OpenConnection] {
        // libcurl does not say through which of the path's relays its own lead.
        let path = configuration.path
        let relays: [Endpoint?] = path.relay?.relays.map(\.endpoint) ?? [nil]
        return idleHTTP1Connections
            + sockets.idleOrigins.flatMap { origin in
                relays.map { relay in
                    path.openConnection(
                        to: origin.endpoint, by: relay, tlsVersion: origin.isSecure ? path.versions.minimum : nil)
                }
            }
    }

    /// The time of this turn, read from the clock once.
    var now: LoopInstant {
        if let turnTime { return turnTime }
        let now = LoopInstant.now
        turnTime = now
        scheduleTurn()
        return now
    }

    // MARK: Members

    func start(_ member: any PoolMember) {
        members.insert(member)
        if origins.admits(member, isSuspended: member.isSuspended) { begin(member) }
    }

    /// A waiting member was suspended or resumed, or its priority changed: its position in the queue changes.
    func requeue(_ member: any PoolMember) {
        guard members.contains(member), !member.attempt.hasBegun else { return }
        if origins.admits(member, isSuspended: member.isSuspended) { begin(member) }
        if origins.isStirred { scheduleTurn() }
    }

    private func begin(_ member: any PoolMember) {
        wasUsed = true
        if hasAnotherRelay(for: member.attempt) { relayWatch?.watch() }
        if let exchange = member as? Exchange, let origin = exchange.attempt.claim?.origin {
            exchange.usesOwnHTTP = speaksHTTP1(for: exchange, to: origin)
            if exchange.usesOwnHTTP, sendsOverIdleConnection(exchange, to: origin) { return }
            if exchange.usesOwnHTTP, hasIdleTransfer(to: origin) { exchange.usesOwnHTTP = false }
        }
        dial(member)
    }

    /// Makes libcurl open a connection, or carry the whole exchange.
    func dial(_ member: any PoolMember) {
        let handle =
            unsafe idleHandles.popLast() ?? EasyHandle(configured: configuration, sharing: sessions, pool: self)
        let attempt = member.attempt
        (attempt.transfer, attempt.connection) = (handle, handle)
        attempt.step = .nameLookup
        attempt.relays = relaysToTry(after: attempt.movedFrom)
        attempt.willDial(at: now)
        handle.client = member
        member.begins(with: handle)
        add(attempt, handle)
    }

    private func add(_ attempt: Attempt, _ handle: EasyHandle) {
        if let relay = attempt.relays.first { handle.set(CURLOPT_PROXY, "https://\(relay)") }
        _ = unsafe curl_multi_add_handle(multi, handle.raw)
        scheduleTurn()
    }

    /// Ends a member's transfer from this side.
    func end(_ member: any PoolMember, _ failure: LoadError) {
        guard members.contains(member) else { return }
        remove(member, failure, isReusable: false)
    }

    private func done(_ member: any PoolMember, _ handle: EasyHandle, _ code: CURLcode) {
        let attempt = member.attempt
        if code == CURLE_OK, let opening = member as? TunnelOpening { return opening.connected() }
        if code == CURLE_OK, let exchange = member as? Exchange, exchange.usesOwnHTTP {
            return connected(exchange, handle)
        }
        if attempt.isSpokenToFirst, let exchange = member as? Exchange { return spokeFirst(to: exchange, handle) }
        guard code != CURLE_OK else { return remove(member, nil, isReusable: true) }
        let isRelayed = configuration.path.relay != nil
        let map = ErrorMap(
            attempt: attempt, handle: handle, isRelayed: isRelayed, proxy: configuration.path.proxy)
        let failure = attempt.failure ?? map.error(for: code)
        guard isRelayed, attempt.failure == nil, triesNextRelay(attempt, failure) || moves(member, after: failure)
        else { return lost(member, failure) }
        restart(attempt, handle)
    }

    /// Begins an attempt anew with its handle, over the first of the relays that are left to it.
    func restart(_ attempt: Attempt, _ handle: EasyHandle) {
        _ = unsafe curl_multi_remove_handle(multi, handle.raw)
        attempt.startOver()
        attempt.willDial(at: now)
        add(attempt, handle)
    }

    /// Ends a member whose connection failed. If the connection went through a relay, the reason may arrive by another
    /// way, so the failure is reported later.
    func lost(_ member: any PoolMember, _ failure: LoadError) {
        let loss = UnexplainedLoss(member: member, failure: failure)
        guard let whenLost, failure.mayHideReason else { return tell(loss) }
        member.attempt.isLost = true
        share.losses.add(loss)
        whenLost()
    }

    /// Ends the member with the loss's failure, unless it has ended meanwhile.
    func tell(_ loss: UnexplainedLoss) {
        guard members.contains(loss.member) else { return }
        remove(loss.member, unserved(loss.member, loss.failure), isReusable: true)
    }

    /// The exchange of a connection of our own is over.
    func completed(_ exchange: Exchange) { remove(exchange, nil, isReusable: true) }

    private func remove(_ member: any PoolMember, _ failure: LoadError?, isReusable: Bool) {
        member.finished(failure)
        members.remove(member)
        origins.left(member)
        if isRetired || origins.isStirred { scheduleTurn() }
        if releasesConnection(of: member.attempt) { return }
        guard let handle = member.attempt.transfer else { return }
        member.attempt.transfer = nil
        handle.release()
        // Makes libcurl free the buffered bytes of a paused transfer: an HTTP/2 stream that ends while it is paused
        // would leak up to 16 KiB (7.88).
        if !isReusable { _ = unsafe curl_easy_pause(handle.raw, CURLPAUSE_CONT) }
        _ = unsafe curl_multi_remove_handle(multi, handle.raw)
        let servesAgain = isReusable && handle.isPlain && CurlLibrary.handlesServeAgain
        if servesAgain && idleHandles.count < Self.maximumHandles { idleHandles.append(handle) }
    }

    /// Makes libcurl close the connection that the handle has opened. The handle must not be used any more.
    func remove(_ handle: EasyHandle) { _ = unsafe curl_multi_remove_handle(multi, handle.raw) }

    /// The result of the handshake of a member's connection.
    func learned(_ origin: Origin, isMultiplexed: Bool) {
        guard isMultiplexing || !isMultiplexed else { return }
        share.protocols.learned(origin, isMultiplexed: isMultiplexed, at: now)
        origins.learned(origin, isMultiplexed: isMultiplexed)
        if origins.isStirred { scheduleTurn() }
    }

    /// Whether several exchanges with the origin may share a connection, as far as is known.
    func mayShare(_ origin: Origin) -> Bool { isMultiplexing && !origins.isOneByOne(origin) }

    /// Whether each connection to the origin is known to carry one exchange at a time.
    func isOneByOne(_ origin: Origin) -> Bool { origins.isOneByOne(origin) }

    /// Notifies a member at the end of the turn.
    func signal(_ member: any PoolMember) {
        guard !member.attempt.isSignalled else { return }
        member.attempt.isSignalled = true
        signalled.append(member)
        scheduleTurn()
    }

    /// A connection continues without libcurl.
    ///
    /// - Parameter origin: the one to which it counts until ``closed(_:)``; nil for none.
    func takesOver(_ descriptor: Int32, to origin: Origin?) {
        let isCounted = sockets.takesOver(descriptor)
        if let origin, !isCounted { origins.opened(origin) }
        loop.forget(descriptor)
    }

    // MARK: Turns

    func scheduleTurn() {
        guard !waitsForTurn else { return }
        waitsForTurn = true
        loop.callAtEndOfTurn(self)
    }

    func turnEnds() {
        defer { resumeAnswered() }
        guard !isClosed else { return }
        waitsForTurn = false
        turnTime = nil
        if sockets.hasStalled { goOnWithStalled() }
        if isCurlDue {
            isCurlDue = false
            act(CURL_SOCKET_TIMEOUT, 0)
        }
        collectDone()
        let due = signalled
        signalled.removeAll(keepingCapacity: true)
        for member in due {
            member.attempt.isSignalled = false
            if member.attempt.isDenied, let refusal = member.attempt.failure { end(member, refusal) }
            member.turnEnds()
        }
        if origins.isStirred { for member in origins.takeAdmitted() { begin(member) } }
        if isCurlDue { scheduleTurn() }
        closeIfDone()
    }

    /// Resumes the task of an exchange at the end of the turn, together with others. Resumed one by one, each would wake
    /// a thread that has nothing more to do and sleeps again: one and a half system calls for each request.
    func answer(_ exchange: Exchange) {
        answered.append(exchange)
        if answered.count == Self.maximumAnswers { resumeAnswered() } else { scheduleTurn() }
    }

    private func resumeAnswered() {
        for exchange in answered { exchange.resumeCaller() }
        answered.removeAll(keepingCapacity: true)
    }

    private func collectDone() {
        var code = CURLE_OK
        while let easy = unsafe sallyport_next_done(multi, &code) {
            guard let context = unsafe sallyport_get_private(easy) else { continue }
            let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            guard let member = handle.client as? any PoolMember else { continue }
            done(member, handle, code)
        }
    }

    // MARK: Readiness

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) {
        if sockets.interest(in: descriptor)?.isEmpty == true {
            // The server closed an idle connection, which libcurl notices when it wants to use it, or sent more bytes.
            if let origin = sockets.origin(of: descriptor) { spokeUnasked(descriptor, origin) }
            return loop.forget(descriptor)
        }
        var bits = Int32(0)
        if readiness.contains(.read) { bits |= CURL_CSELECT_IN }
        if readiness.contains(.write) { bits |= CURL_CSELECT_OUT }
        if readiness.contains(.hangUp) { bits |= CURL_CSELECT_ERR }
        act(descriptor, bits)
        // At once: libcurl treats the connection, which it was only to open, as idle, and may close it in its next
        // call.
        collectDone()
        scheduleTurn()
    }

    /// Bytes on an idle connection answer no request. Over HTTP/1.1, libcurl 7.88 would take them for the answer to the
    /// next one (HTTP/2 names the request of each). Without them it finds a dead connection.
    private func spokeUnasked(_ descriptor: Int32, _ origin: Origin) {
        guard !origin.isSecure || origin.isHTTP1Only || origins.isOneByOne(origin) else { return }
        // libcurl does not wait for the socket of a transfer that is paused, either.
        let port = localPort(of: descriptor)
        let isInUse = members.all.contains { member in
            guard member.attempt.claim?.origin == origin, let transfer = member.attempt.transfer else { return false }
            return transfer.socket == descriptor || member.isPaused && transfer.mayHave(localPort: port)
        }
        if isInUse { return }
        exhaustSocket(descriptor)
    }

    /// Whether bytes have come over the connection that libcurl has made for an attempt, and is about to send over.
    /// Under TLS they tell nothing, as its own records come by themselves.
    func hasBytes(for attempt: Attempt) -> Bool {
        guard let port = attempt.transfer?.long(CURLINFO_LOCAL_PORT), port > 0 else { return false }
        return sockets.descriptors(of: attempt).contains { descriptor in
            localPort(of: descriptor).map(Int.init) == port && hasUnreadBytes(descriptor)
        }
    }

    private func act(_ descriptor: Int32, _ bits: Int32) {
        var running = Int32(0)
        _ = unsafe curl_multi_socket_action(multi, descriptor, bits, &running)
    }

    fileprivate func wants(_ descriptor: Int32, _ what: Int32) {
        guard what != CURL_POLL_REMOVE else {
            if !sockets.rests(descriptor) { gone(descriptor, isClosed: false) }
            return
        }
        var interest = Interest.none
        if what & CURL_POLL_IN != 0 { interest.insert(.read) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
        sockets.waits(descriptor, for: interest)
        loop.watch(descriptor, for: interest, handler: self)
    }

    /// Whether there is an idle libcurl connection whose handshake showed that the origin's server chooses HTTP/1.1: it
    /// is used, since another would cost a handshake.
    func hasIdleTransfer(to origin: Origin) -> Bool {
        guard engine == .automatic, origin.isSecure, !origin.isHTTP1Only else { return false }
        return sockets.hasIdle(to: origin)
    }

    /// libcurl has a new socket, which is not connected yet. If another had its number, the kernel reports that one no
    /// longer; libcurl may rely on it nevertheless, if both are sockets of one transfer.
    func opened(_ descriptor: Int32, by attempt: Attempt) {
        let interest = sockets.interest(in: descriptor) ?? .none
        gone(descriptor, isClosed: true)
        sockets.opened(descriptor, by: attempt, interest: interest)
        if let origin = attempt.claim?.origin { origins.opened(origin) }
        if !interest.isEmpty { loop.watch(descriptor, for: interest, handler: self) }
    }

    /// One of our own connections to the origin was closed.
    func closed(_ origin: Origin) {
        origins.closed(origin)
        if origins.isStirred { scheduleTurn() }
    }

    func willClose(_ descriptor: Int32) { gone(descriptor, isClosed: true) }

    private func gone(_ descriptor: Int32, isClosed: Bool) {
        loop.forget(descriptor, isClosed: isClosed)
        if let origin = sockets.remove(descriptor) { origins.closed(origin) }
        if sockets.hasStalled { scheduleTurn() }
    }

    /// libcurl turns to the next address of a name in its next call only, and asks for none before half of the time to
    /// connect is over (7.88).
    private func goOnWithStalled() {
        for attempt in sockets.takeStalled() { attempt.transfer?.goOn() }
    }

    // MARK: Timer

    fileprivate func wantsCall(inMilliseconds delay: Int) {
        isCurlDue = delay == 0
        curlDeadline = delay > 0 ? now.advanced(byNanoseconds: Int64(delay) * 1_000_000) : .never
        if isCurlDue { return scheduleTurn() }
        guard curlDeadline < armed else { return }
        armed = curlDeadline
        loop.set(timer, at: armed)
    }

    /// The timer is only ever moved earlier; if it fires too early, it is set again.
    private func timerFired() {
        armed = .never
        guard curlDeadline > now else {
            curlDeadline = .never
            isCurlDue = true
            return scheduleTurn()
        }
        guard curlDeadline != .never else { return }
        armed = curlDeadline
        loop.set(timer, at: armed)
    }
}

private func socketChanged(
    _: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ what: Int32, _ context: UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context else { return 0 }
    unsafe Unmanaged<Pool>.fromOpaque(context).takeUnretainedValue().wants(descriptor, what)
    return 0
}

private func timerChanged(_: UnsafeMutableRawPointer?, _ delay: Int, _ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let context = unsafe context else { return 0 }
    unsafe Unmanaged<Pool>.fromOpaque(context).takeUnretainedValue().wantsCall(inMilliseconds: delay)
    return 0
}
