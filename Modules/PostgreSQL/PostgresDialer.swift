#if PostgreSQL
internal import SallyportEventLoop
internal import SallyportGateway

/// Connects to the host of a database that takes writes.
///
/// All addresses of all hosts are dialled at the same time: libpq would try them one after the other, and keeps its own
/// limit of time only where it may block, so that a host which swallows packets would hold it up. The first that takes
/// writes is used, unless another one with a higher timeline answers a moment later: two that take writes are an old
/// primary and the new one.
struct PostgresDialer: Sendable {
    let options: PostgresOptions
    let loop: EventLoop
    /// For one address, until the end of the log-in.
    static let limit: Duration = .seconds(5)
    /// How long the other hosts are waited for once one takes writes, if a transaction needs the connection: those in the
    /// same network answer much sooner. A newer primary that is slower is found by a survey, which waits for all.
    static let grace: Duration = .milliseconds(250)

    private enum Event: Sendable {
        case connected(PostgresConnection)
        case failed(GatewayError)
        /// The addresses of a host are known: so many more dials have begun.
        case dialled(Int)
        /// One takes writes, and the others have had their time.
        case enough
    }

    /// - Parameter grace: How long the other hosts are waited for once one takes writes; with ``limit``, all of them are.
    /// - Throws: `unreachable` with the reason of each address; `cancelled`.
    func connect(within grace: Duration = grace) async throws(GatewayError) -> PostgresConnection {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let tasks = options.hosts.map { host in Task { await dial(host, continuation) } }
        defer {
            for task in tasks { task.cancel() }
            continuation.finish()
        }
        var pending = tasks.count
        var failures: [GatewayError] = []
        var found: PostgresConnection?
        for await event in events {
            switch event {
            case .connected(let connection):
                pending -= 1
                if found == nil { end(continuation, after: grace) }
                found = await newer(found, connection)
            case .dialled(let count): pending += count - 1
            case .failed(let error):
                failures.append(error)
                pending -= 1
            case .enough: pending = 0
            }
            if pending == 0 { break }
        }
        if let found { return found }
        if Task.isCancelled { throw GatewayError(CancellationError()) }
        throw GatewayError(.unreachable, failures.map(\.message).joined(separator: " "))
    }

    private func end(_ events: AsyncStream<Event>.Continuation, after grace: Duration) {
        Task {
            try? await Task.sleep(for: grace)
            events.yield(.enough)
        }
    }

    /// Of two connections, the one with the higher timeline; the other one is closed.
    private func newer(_ one: PostgresConnection?, _ other: PostgresConnection) async -> PostgresConnection {
        guard let one else { return other }
        let isOther = await other.timeline ?? 0 > one.timeline ?? 0
        await (isOther ? one : other).close()
        return isOther ? other : one
    }

    private func dial(_ host: PostgresOptions.Host, _ events: AsyncStream<Event>.Continuation) async {
        let addresses: [String]
        do throws(GatewayError) { addresses = try await HostLookup.addresses(of: host) } catch {
            events.yield(.failed(error))
            return
        }
        events.yield(.dialled(addresses.count))
        await withDiscardingTaskGroup { group in
            for address in addresses { group.addTask { await dial(host, at: address, events) } }
        }
    }

    private func dial(
        _ host: PostgresOptions.Host, at address: String, _ events: AsyncStream<Event>.Continuation
    ) async {
        let connection = PostgresConnection(to: host.place, on: loop)
        await withTaskCancellationHandler {
            do throws(GatewayError) {
                try await connection.open(options.parameters(for: host, at: address), within: Self.limit)
            } catch {
                events.yield(.failed(error))
                return
            }
            // Another one was faster.
            if case .terminated = events.yield(.connected(connection)) { await connection.close() }
        } onCancel: {
            _ = loop.executeIfRunning { connection.assumeIsolated { $0.abandon() } }
        }
    }
}
#endif
