internal import SallyportCore
internal import SallyportWire

extension Authorization {
    /// The most servers, domains and networks that are listed.
    private static let listed = 100

    /// The current settings as names and values; none of them is secret.
    package func settings() -> [(name: String, value: String)] {
        var lines: [(name: String, value: String)] = [("state", "\(state)")]
        if let identity {
            lines.append(("gateway", identity.gateway))
            let others = (document?.gateways ?? []).map(\.endpoint.description).filter { $0 != identity.gateway }
            if !others.isEmpty { lines.append(("other gateways", others.joined(separator: ", "))) }
            lines.append(("instance", "\(identity.name.instance)"))
            lines.append(("app", "\(identity.name.entitlement)"))
            lines.append(("user", identity.user))
            lines.append(("certificate until", "\(identity.notAfter)"))
        }
        guard let document else { return lines }
        lines.append(("version", "\(document.entitlement.version)"))
        lines.append(("epoch", "\(document.epoch)"))
        lines.append(("lease until", "\(document.leaseEnd)"))
        lines.append(("default route", "\(document.defaultRoute.route)"))
        if let domains = document.defaultDomains { lines.append(("default domains", domains.joined(separator: ", "))) }
        lines += document.servers.prefix(Self.listed).map { ("server \($0.endpoint)", "\($0.route)") }
        lines += document.domains.prefix(Self.listed).map { ("domain \($0.name)", "\($0.route)") }
        lines += document.deniedNetworks.prefix(Self.listed).map { ("network \($0)", "\(Route.deny)") }
        for cluster in document.clusters {
            lines.append(("cluster \(cluster.name)", cluster.relays.map { "\($0.endpoint)" }.joined(separator: ", ")))
        }
        lines.append(("TLS floor", document.tls.floor.map { "\($0)" } ?? "none"))
        lines.append(("TLS blocked", document.tls.blocked.map { "\($0)" }.sorted().joined(separator: ", ")))
        lines.append(("schemes", document.schemes.joined(separator: ", ")))
        lines.append(("realms", document.realms.map(\.name).joined(separator: ", ")))
        return lines
    }
}
