package import SallyportCore

/// The KDCs of a realm: those that the administrator lists, otherwise those in the enterprise's DNS (RFC 4120
/// §7.2.3.2), or the realm's name as a host. Routing decides whether they may be reached.
package struct RealmServers: Sendable {
    /// The standard port of KDCs.
    package static let port: UInt16 = 88
    /// The most KDCs that are tried.
    package static let limit = 8

    private let listed: @Sendable (String) -> [Endpoint]
    private let names: (any NameLookup)?

    /// - Parameters:
    ///   - names: nil if there is no look-up in the enterprise's DNS.
    ///   - listed: returns the KDCs of a realm in the configuration; empty if it is not listed.
    package init(names: (any NameLookup)? = nil, listed: @escaping @Sendable (String) -> [Endpoint] = { _ in [] }) {
        self.listed = listed
        self.names = names
    }

    /// In the order in which they are tried; empty for a realm that is not a valid host name.
    func servers(of realm: String) async throws(LoadError) -> [Endpoint] {
        let listed = listed(realm)
        guard listed.isEmpty else { return Array(listed.prefix(Self.limit)) }
        guard case .name(let name)? = try? Host(realm) else { return [] }
        let found = try await lookUp(name)
        guard found.isEmpty else { return found }
        return (try? Endpoint(host: .name(name), port: Self.port)).map { [$0] } ?? []
    }

    /// A failed look-up counts as a name without records.
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
