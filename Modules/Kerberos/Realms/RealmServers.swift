package import SallyportCore

/// Where the KDCs of a realm are: as the administrator lists them, else as the names of the inside say (RFC 4120 §7.2.3.2),
/// else the realm's own name. Whether one of them may be spoken to, routing alone decides.
package struct RealmServers: Sendable {
    /// The documented port.
    package static let port: UInt16 = 88
    /// The most that are tried.
    package static let limit = 8

    private let listed: @Sendable (String) -> [Endpoint]
    private let names: (any NameLookup)?

    /// - Parameters:
    ///   - names: nil where nobody answers for the names of the inside.
    ///   - listed: those of a realm in the configuration; none where it is not listed.
    package init(names: (any NameLookup)? = nil, listed: @escaping @Sendable (String) -> [Endpoint] = { _ in [] }) {
        self.listed = listed
        self.names = names
    }

    /// In the order in which they are tried; empty for a realm that is no name of a host.
    func servers(of realm: String) async throws(LoadError) -> [Endpoint] {
        let listed = listed(realm)
        guard listed.isEmpty else { return Array(listed.prefix(Self.limit)) }
        guard case .name(let name)? = try? Host(realm) else { return [] }
        let found = try await lookUp(name)
        guard found.isEmpty else { return found }
        return (try? Endpoint(host: .name(name), port: Self.port)).map { [$0] } ?? []
    }

    /// A name that nobody answers for is one without records.
    private func lookUp(_ name: String) async throws(LoadError) -> [Endpoint] {
        guard let names else { return [] }
        let records: [ServiceRecord]
        do throws(LoadError) {
            records = try await names.services(of: "_kerberos._tcp.\(name)")
        } catch {
            if error.code == .cancelled { throw error }
            return []
        }
        let order = records.sorted { ($0.priority, $1.weight) < ($1.priority, $0.weight) }
        return order.prefix(Self.limit).map(\.endpoint)
    }
}
