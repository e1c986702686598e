extension RoutingTable {
    /// The server that a short name stands for: one label, to which a default domain is appended. Any other server is
    /// returned as it is.
    ///
    /// Nothing is looked up; the rules decide. The first domain in which exactly this server is listed counts; else the
    /// first in which the rules let it be reached; else the first, so that a refusal has the whole name. A short name
    /// that a rule has itself, and `localhost`, stand for themselves.
    public func completed(_ endpoint: Endpoint) -> Endpoint {
        guard !defaultDomains.isEmpty, endpoint.host.isShort, !names(endpoint.host) else { return endpoint }
        let decisions = defaultDomains.compactMap { domain in
            (try? Host("\(endpoint.host).\(domain)")).flatMap { try? Endpoint(host: $0, port: endpoint.port) }
        }.map(decide)
        let open = decisions.filter { $0.route != .deny }
        let listed = open.first { if case .server = $0.rule { true } else { false } }
        return (listed ?? open.first ?? decisions.first)?.endpoint ?? endpoint
    }
}

extension Host {
    /// Whether it is a name of one label that may belong to a default domain.
    package var isShort: Bool {
        guard case .name(var name) = self, name != "localhost" else { return false }
        return !name.withUTF8 { unsafe $0.contains(UInt8(ascii: ".")) }
    }
}
