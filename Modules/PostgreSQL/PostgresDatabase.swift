#if PostgreSQL
internal import SallyportBase
internal import SallyportEventLoop
package import SallyportGateway

/// A PostgreSQL database, of version 15 or later, for a fleet of gateways.
///
/// An actor for the connections that are idle. Transactions beside each other take a connection each, up to a limit, and
/// then wait. One more connection listens for notifications.
package actor PostgresDatabase: FleetDatabase {
    /// The most connections for transactions.
    package static let limit = 8
    /// For one statement, a wait for another transaction's lock included.
    package static let patience: Duration = .seconds(5)

    private let dialer: PostgresDialer
    private var idle: [PostgresConnection] = []
    private var busy = 0
    private var waiters = TaskWaiters()
    private var isClosed = false
    private var fence = TimelineFence()
    private var listeners: [Task<Void, Never>] = []
    /// See ``FleetDatabase/trouble``.
    package private(set) var trouble: GatewayError?

    /// Opens no connection yet.
    ///
    /// - Parameter url: `postgresql://user@host1,host2:5433/database?sslmode=verify-full`, or libpq's `key=value` pairs. A
    ///   server is verified (`verify-full`) unless `sslmode` or `PGSSLMODE` says otherwise.
    /// - Throws: `invalid`.
    package init(_ url: String) throws(GatewayError) {
        dialer = PostgresDialer(options: try PostgresOptions(url), loop: EventLoopGroup.shared.next())
    }

    package nonisolated var hostCount: Int {
        get async { await HostLookup.hostCount(of: dialer.options.hosts) }
    }

    /// Transactions under way go on, and their connections are closed at their ends; none begins any more.
    package func close() async {
        isClosed = true
        for listener in listeners { listener.cancel() }
        await dropIdle()
        waiters.release()
    }
}

// MARK: Transactions

extension PostgresDatabase {
    package func transaction<Value: Sendable>(
        _ kind: FleetTransactionKind, _ body: @Sendable (any FleetTransaction) async throws -> Value
    ) async throws -> Value {
        let connection = try await take()
        do {
            try await connection.run(script: Self.begin(kind), within: Self.patience)
            let value = try await body(PostgresTransaction(connection: connection))
            try await check(connection)
            try await connection.run("COMMIT", [], within: Self.patience)
            await give(connection)
            return value
        } catch {
            await rollBack(connection)
            throw error
        }
    }

    /// The server keeps the time too: a gateway that is stopped or cut off in a transaction cannot end it, and would keep
    /// the locks that every other gateway's changes wait for.
    private static func begin(_ kind: FleetTransactionKind) -> String {
        switch kind {
        case .write:
            """
            BEGIN ISOLATION LEVEL READ COMMITTED;
            SET LOCAL idle_in_transaction_session_timeout = '3s'; SET LOCAL lock_timeout = '4s'
            """
        case .read:
            // No other transaction waits for it, and a gateway may need a while to read many instances.
            """
            BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
            SET LOCAL idle_in_transaction_session_timeout = '60s'
            """
        }
    }

    private func rollBack(_ connection: PostgresConnection) async {
        if await connection.isOpen { _ = try? await connection.run("ROLLBACK", [], within: Self.patience) }
        if await connection.isOpen { return await give(connection) }
        // The host may be gone, of which an idle connection to it knows nothing.
        await dropIdle()
        ended()
    }

    private func dropIdle() async {
        let connections = idle
        idle = []
        for connection in connections { await connection.close() }
    }

    /// An idle connection, or a new one; waits while too many are in use.
    private func take() async throws -> PostgresConnection {
        while busy >= Self.limit, !isClosed {
            let (number, signal) = waiters.join()
            await signal.wait()
            guard waiters.wasReleased(number) else { throw GatewayError(CancellationError()) }
        }
        try checkIsOpen()
        busy += 1
        do {
            let connection = try await idleOrNew()
            do { try checkIsOpen() } catch {
                // It was closed meanwhile, and knows of idle connections only.
                await connection.close()
                throw error
            }
            return connection
        } catch {
            ended()
            throw error
        }
    }

    private func checkIsOpen() throws(GatewayError) {
        guard !isClosed else { throw GatewayError(.ended, "The database was closed.") }
    }

    private func idleOrNew() async throws -> PostgresConnection {
        while let connection = idle.popLast() {
            if await connection.isStillGood(), (try? await check(connection)) != nil { return connection }
        }
        return try await connect()
    }

    private func connect(within grace: Duration = PostgresDialer.grace) async throws -> PostgresConnection {
        let connection = try await dialer.connect(within: grace)
        try await check(connection)
        return connection
    }

    /// - Throws: `store`, once the connection is closed, if it leads to an old primary.
    private func check(_ connection: PostgresConnection) async throws {
        let timeline = await connection.timeline
        guard !fence.admits(timeline) else { return }
        await connection.close()
        throw GatewayError(
            .store,
            "The database at \(connection.place) is on timeline \(timeline ?? 0) and was on \(fence.newest) before: it is "
                + "an old primary that has woken. Nothing is taken from it, and nothing is written. If the database was "
                + "replaced on purpose, start this gateway again.")
    }

    private func give(_ connection: PostgresConnection) async {
        if isClosed { await connection.close() } else { idle.append(connection) }
        ended()
    }

    private func ended() {
        busy -= 1
        waiters.release()
    }
}

struct PostgresTransaction: FleetTransaction {
    let connection: PostgresConnection

    func run(_ statement: String, _ values: [FleetValue]) async throws -> [FleetRow] {
        try await connection.run(statement, values, within: PostgresDatabase.patience)
    }

    func run(
        _ statement: String, _ values: [FleetValue], inPartsOf count: Int, _ take: @Sendable ([FleetRow]) -> Void
    ) async throws {
        try await connection.run(statement, values, inPartsOf: count, within: PostgresDatabase.patience, take)
    }
}

// MARK: Notifications

extension PostgresDatabase {
    /// How often a connection that listens is asked whether it is still there.
    private static let heartbeat: Duration = .milliseconds(250)
    /// How long it may take to answer.
    private static let heartbeatLimit: Duration = .milliseconds(750)
    /// How often all hosts are looked at for a newer primary.
    private static let survey: Duration = .seconds(10)

    package nonisolated func notifications(of channel: String, watching state: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.listen(to: channel, watching: state, continuation) }
                group.addTask { await self.lookForNewer() }
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        Task { await keep(task) }
        return stream
    }

    private func keep(_ listener: Task<Void, Never>) {
        if isClosed { listener.cancel() } else { listeners.append(listener) }
    }

    /// Listens until the task is cancelled, over a new connection each time that one is lost.
    private func listen(to channel: String, watching state: String, _ news: AsyncStream<Void>.Continuation) async {
        while !Task.isCancelled {
            do {
                let connection = try await connect()
                do { try await follow(channel, state, over: connection, news) } catch {
                    await connection.close()
                    throw error
                }
                await connection.close()
            } catch {
                trouble = GatewayError(error)
                await dropIdle()
            }
            try? await Task.sleep(for: Self.heartbeat)
        }
        news.finish()
    }

    private func follow(
        _ channel: String, _ state: String, over connection: PostgresConnection,
        _ news: AsyncStream<Void>.Continuation
    ) async throws {
        try await connection.run("LISTEN \"\(channel)\"", [], within: Self.patience)
        var last = try await connection.run(state, [], within: Self.patience)
        trouble = nil
        // What was told before is not told again.
        news.yield()
        while !Task.isCancelled {
            let isTold = try await connection.notifications(within: Self.heartbeat) > 0
            if isTold { news.yield() }
            let now = try await connection.run(state, [], within: Self.heartbeatLimit)
            // A proxy between may have swallowed the notification.
            if !isTold, now != last { news.yield() }
            last = now
            try await check(connection)
        }
    }

    /// Notices a primary that was promoted while the old one goes on answering: a connection to that one would never end
    /// by itself.
    private func lookForNewer() async {
        guard dialer.options.haveOthers else { return }
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.survey)
            // Its timeline is noted by the check; the connections to an older one end at their next use. A primary that is
            // slow to log in would not be noticed otherwise.
            if let connection = try? await connect(within: PostgresDialer.limit) { await connection.close() }
        }
    }
}
#endif
