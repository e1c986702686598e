#if PostgreSQL
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
