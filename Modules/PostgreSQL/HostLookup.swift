#if PostgreSQL
internal import SallyportBase
internal import SallyportCore
internal import SallyportGateway

/// Looks up the addresses of a database's host.
enum HostLookup {
    /// One empty text for a Unix socket, whose path needs no address.
    ///
    /// - Throws: `unreachable`; `cancelled`.
    static func addresses(of host: PostgresOptions.Host) async throws(GatewayError) -> [String] {
        if !host.address.isEmpty { return [host.address] }
        if host.name.isEmpty || host.isUnixSocket { return [""] }
        // An address with its interface, as in `fe80::1%eth0`, which no other form of an address keeps.
        if host.name.contains("%") { return [host.name] }
        do { return try await SystemResolver.ofDatabases.addresses(of: host.name).map(\.description) } catch {
            throw reason(error, host.name)
        }
    }

    /// How many hosts these are. One that is alone is looked up, since a name may lead to several; it counts as one if
    /// the look-up fails or takes longer than `limit`.
    static func hostCount(
        of hosts: [PostgresOptions.Host], within limit: Duration = .seconds(2),
        _ lookUp: @escaping @Sendable (PostgresOptions.Host) async throws -> [String] = {
            try await HostLookup.addresses(of: $0)
        }
    ) async -> Int {
        guard hosts.count == 1, let host = hosts.first else { return hosts.count }
        let (counts, continuation) = AsyncStream.makeStream(of: Int.self)
        // A task without a parent: the resolver's call cannot be cancelled once it has begun.
        let task = Task {
            continuation.yield(count(of: (try? await lookUp(host)) ?? []))
            continuation.finish()
        }
        defer { task.cancel() }
        return await untilDeadline(.now + limit) { () -> Int in
            for await count in counts { return count }
            return 1
        } ?? 1
    }

    /// How many hosts have these addresses: an IPv4 and an IPv6 address under one name are most often of one host.
    static func count(of addresses: [String]) -> Int {
        let kinds = Dictionary(grouping: Set(addresses)) { $0.contains(":") }
        return kinds.values.map(\.count).max() ?? 1
    }

    private static func reason(_ error: any Error, _ name: String) -> GatewayError {
        switch error as? NameResolutionError {
        case .notFound: GatewayError(.unreachable, "The name \(name) of the database has no address.")
        case .timedOut: GatewayError(.unreachable, "No name server answers for \(name), the name of the database.")
        case .failed: GatewayError(.unreachable, "The resolver cannot look up \(name), the name of the database.")
        case nil: GatewayError(error)
        }
    }
}
#endif
