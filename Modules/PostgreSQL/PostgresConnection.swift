#if PostgreSQL
internal import CPQ
internal import Glibc
internal import SallyportEventLoop
internal import SallyportGateway

/// One connection to a database, by libpq without blocking. An actor on an event loop, since the loop watches its
/// socket.
///
/// Each step has a deadline: a server that is stopped still acknowledges what the network carries, so that nothing else
/// would notice it. A step that fails ends the connection.
@safe
actor PostgresConnection: DescriptorHandler {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    // SAFETY: used by this actor only, and freed once, by `close()` or at the end.
    private var handle: OpaquePointer?
    private var waiter: CheckedContinuation<Bool, Never>?
    private var watched: Int32 = -1
    private var timer: LoopTimer?
    let place: String
    private var isConnected = false
    /// Of the primary that it leads to; nil if the server does not tell.
    private(set) var timeline: UInt32?

    /// - Parameter place: host and port, for errors.
    init(to place: String, on loop: EventLoop) {
        (self.place, self.loop) = (place, loop)
    }

    isolated deinit { if let handle = unsafe handle { unsafe PQfinish(handle) } }

    var isOpen: Bool { unsafe handle != nil }

    /// Whether an idle connection can be used: the server has not closed it.
    func isStillGood() -> Bool {
        guard let handle = unsafe handle, unsafe PQconsumeInput(handle) == 1 else {
            close()
            return false
        }
        return unsafe PQstatus(handle) == CONNECTION_OK
    }

    /// Ends the wait for a connection that is not wanted any more; one that is open stays open.
    func abandon() { if !isConnected { close() } }

    /// Ends the connection; a step that waits fails. Idempotent.
    func close() {
        unwatch()
        if let handle = unsafe handle { unsafe PQfinish(handle) }
        unsafe handle = nil
        resume(false)
    }
}

// MARK: Connecting

extension PostgresConnection {
    /// Connects, and logs in.
    func open(_ parameters: [(keyword: String, value: String)], within limit: Duration) async throws(GatewayError) {
        let deadline = LoopInstant.now.advanced(by: limit)
        unsafe handle = Self.start(parameters)
        guard let handle = unsafe handle, unsafe PQstatus(handle) != CONNECTION_BAD else { throw ended() }
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard state != PGRES_POLLING_FAILED else { throw ended() }
            try await wait(for: state == PGRES_POLLING_READING ? .read : .write, until: deadline)
            guard let handle = unsafe self.handle else { throw ended() }
            state = unsafe PQconnectPoll(handle)
        }
        guard let handle = unsafe self.handle, unsafe PQsetnonblocking(handle, 1) == 0 else { throw ended() }
        isConnected = true
        // Notices would be printed.
        _ = unsafe PQsetNoticeReceiver(handle, { _, _ in }, nil)
        let rows = try? await run("SELECT pg_walfile_name(pg_current_wal_lsn())", [], until: deadline)
        timeline = (try? rows?.first?.text(0)).flatMap(TimelineFence.timeline(ofSegment:))
        guard isOpen else { throw ended() }
    }

    /// A first `dbname` may be a text of `key=value` pairs, which the parameters after it replace.
    static func start(_ parameters: [(keyword: String, value: String)]) -> OpaquePointer? {
        let texts = unsafe parameters.flatMap { unsafe [strdup($0.keyword), strdup($0.value)] }
        defer { unsafe texts.forEach { unsafe free($0) } }
        var keywords: [UnsafePointer<CChar>?] = unsafe []
        var values: [UnsafePointer<CChar>?] = unsafe []
        for index in stride(from: 0, to: unsafe texts.count, by: 2) {
            unsafe keywords.append(UnsafePointer(texts[index]))
            unsafe values.append(UnsafePointer(texts[index + 1]))
        }
        unsafe keywords.append(nil)
        unsafe values.append(nil)
        return unsafe PQconnectStartParams(keywords, values, 1)
    }
}

// MARK: Statements

extension PostgresConnection {
    /// Runs one statement.
    @discardableResult
    func run(
        _ statement: String, _ values: [FleetValue], within limit: Duration
    ) async throws -> [FleetRow] {
        try await run(statement, values, until: LoopInstant.now.advanced(by: limit))
    }

    /// Runs statements that have neither parameters nor rows, in one round trip.
    func run(script: String, within limit: Duration) async throws {
        let deadline = LoopInstant.now.advanced(by: limit)
        guard let handle = unsafe handle, unsafe PQsendQuery(handle, script) == 1 else { throw ended() }
        try await flush(until: deadline)
        _ = try await rows(until: deadline)
    }

    private func run(
        _ statement: String, _ values: [FleetValue], until deadline: LoopInstant
    ) async throws -> [FleetRow] {
        try await send(statement, values, until: deadline)
        return try await rows(until: deadline)
    }

    /// All rows of what was sent; throws its first failure.
    private func rows(until deadline: LoopInstant) async throws -> [FleetRow] {
        var outcome: Result<[FleetRow], GatewayError> = .success([])
        while let result = unsafe try await next(until: deadline) {
            defer { unsafe PQclear(result) }
            let rows = unsafe PostgresRows.read(result)
            if case .success = outcome { outcome = rows }
        }
        return try outcome.get()
    }

    /// Runs one statement and hands its rows over in parts, while the server sends the others.
    ///
    /// - Parameter limit: for each part, since a long answer may take its time.
    func run(
        _ statement: String, _ values: [FleetValue], inPartsOf count: Int, within limit: Duration,
        _ take: @Sendable ([FleetRow]) -> Void
    ) async throws {
        var deadline = LoopInstant.now.advanced(by: limit)
        try await send(statement, values, until: deadline, isRowByRow: true)
        var part: [FleetRow] = []
        var failure: GatewayError?
        while let result = unsafe try await next(until: deadline) {
            defer { unsafe PQclear(result) }
            switch unsafe PostgresRows.read(result) {
            case .success(let rows): part += rows
            case .failure(let error): failure = failure ?? error
            }
            guard part.count >= count else { continue }
            take(part)
            part.removeAll(keepingCapacity: true)
            deadline = LoopInstant.now.advanced(by: limit)
        }
        if let failure { throw failure }
        if !part.isEmpty { take(part) }
    }

    /// - Parameter isRowByRow: whether each row is a result of its own, which does not wait for the others.
    private func send(
        _ statement: String, _ values: [FleetValue], until deadline: LoopInstant, isRowByRow: Bool = false
    ) async throws(GatewayError) {
        guard let handle = unsafe handle, unsafe PostgresParameters.send(statement, values, over: handle),
            unsafe !isRowByRow || PQsetSingleRowMode(handle) == 1
        else { throw ended() }
        try await flush(until: deadline)
    }

    private func flush(until deadline: LoopInstant) async throws(GatewayError) {
        while true {
            guard let handle = unsafe handle else { throw ended() }
            switch unsafe PQflush(handle) {
            case 0: return
            case 1: try await wait(for: [.read, .write], until: deadline)
            default: throw ended()
            }
            guard let handle = unsafe self.handle, unsafe PQconsumeInput(handle) == 1 else { throw ended() }
        }
    }

    /// The next result of a statement; nil if there are no more.
    private func next(until deadline: LoopInstant) async throws(GatewayError) -> OpaquePointer? {
        while true {
            guard let handle = unsafe handle else { throw ended() }
            if unsafe PQisBusy(handle) == 0 { return unsafe PQgetResult(handle) }
            try await wait(for: .read, until: deadline)
            guard let handle = unsafe self.handle, unsafe PQconsumeInput(handle) == 1 else { throw ended() }
        }
    }

    /// Waits until the server says something, for at most `limit`.
    ///
    /// - Returns: how many notifications have come.
    func notifications(within limit: Duration) async throws(GatewayError) -> Int {
        guard let handle = unsafe handle else { throw ended() }
        if await isReady(for: .read, until: LoopInstant.now.advanced(by: limit)) {
            guard let handle = unsafe self.handle, unsafe PQconsumeInput(handle) == 1 else { throw ended() }
        }
        guard unsafe self.handle != nil else { throw ended() }
        var count = 0
        while let notification = unsafe PQnotifies(handle) {
            unsafe PQfreemem(notification)
            count += 1
        }
        return count
    }

    /// Ends the connection because a step has failed.
    private func ended() -> GatewayError {
        var reason = ""
        if let handle = unsafe handle { reason = unsafe Self.reason(of: handle) }
        close()
        return GatewayError(
            .unreachable, "The database at \(place) cannot be used: \(reason.isEmpty ? "closed" : reason)")
    }

    /// Why libpq has given a connection up, in one line.
    static func reason(of handle: OpaquePointer) -> String {
        let reason = unsafe String(cString: PQerrorMessage(handle))
        return reason.split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
    }
}

// MARK: Readiness

extension PostgresConnection {
    private func wait(for interest: Interest, until deadline: LoopInstant) async throws(GatewayError) {
        guard await isReady(for: interest, until: deadline) else {
            let isOpen = unsafe handle != nil
            close()
            throw GatewayError(
                .unreachable, "The database at \(place) \(isOpen ? "does not answer in time" : "was closed").")
        }
    }

    /// False if the deadline has passed, or if the connection is closed.
    private func isReady(for interest: Interest, until deadline: LoopInstant) async -> Bool {
        guard let handle = unsafe handle else { return false }
        let descriptor = unsafe PQsocket(handle)
        guard descriptor >= 0 else { return false }
        return await withCheckedContinuation { continuation in
            waiter = continuation
            watched = descriptor
            loop.watch(descriptor, for: interest, handler: self)
            let timer = timer ?? LoopTimer { [weak self] in self?.assumeIsolated { $0.ready(false) } }
            self.timer = timer
            loop.set(timer, at: deadline)
        }
    }

    nonisolated func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) {
        assumeIsolated { $0.ready(true) }
    }

    private func ready(_ isReady: Bool) {
        unwatch()
        resume(isReady)
    }

    private func resume(_ isReady: Bool) {
        waiter?.resume(returning: isReady)
        waiter = nil
    }

    /// libpq may close the socket and open another, so no watch is left behind while it works.
    private func unwatch() {
        if let timer { loop.set(timer, at: nil) }
        if watched >= 0 { loop.forget(watched) }
        watched = -1
    }
}
#endif
