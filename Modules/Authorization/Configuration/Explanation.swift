internal import SallyportCore
internal import SallyportWire

/// How a URL would be reached, and why; nothing is sent.
public struct Explanation: Sendable, Hashable, CustomStringConvertible {
    /// Without query and fragment, which may be secret.
    public let url: String
    /// `relay`, `direct` or `deny`.
    public let route: String
    /// The cluster of a relay route; nil for other routes.
    public let cluster: String?
    /// The cluster that is used while no relay of ``cluster`` can be reached; nil for none.
    public let secondary: String?
    /// The server that a name without a domain stands for, HOST:PORT; nil if the URL has the whole name.
    public let completed: String?
    /// `server HOST:PORT`, `domain NAME`, `network ADDRESS/BITS`, `cloud metadata` or `default`.
    public let rule: String
    /// For people.
    public let text: String

    public var description: String { text }
}

extension Explanation {
    /// - Throws: ``AddressError`` if the text is not a URL with a host.
    init(_ text: String, under table: RoutingTable, clusters: Set<String>) throws(AddressError) {
        let url = try RequestURL(text)
        guard let endpoint = url.endpoint else {
            throw AddressError(.invalidURL, "Routes are for http and https URLs.")
        }
        let whole = table.completed(endpoint)
        let decision = table.decide(whole)
        let remark = Self.remark(on: decision, under: table)
        rule = decision.rule.description
        completed = whole == endpoint ? nil : whole.description
        secondary = decision.secondary
        self.url = url.redacted
        switch decision.route {
        case .relay(let name):
            route = "relay"
            cluster = name
            let hasRelays = [name, secondary].compactMap(\.self).contains(where: clusters.contains)
            self.text = (hasRelays ? "\(decision)" : "\(decision), but the cluster has no relays") + remark
        case .direct, .deny:
            route = decision.route.description
            cluster = nil
            self.text = "\(decision)\(remark)"
        }
    }

    /// Names are not resolved here, so the rules for addresses cannot be applied to them.
    private static func remark(on decision: RouteDecision, under table: RoutingTable) -> String {
        guard case .name = decision.endpoint.host, decision.route != .deny, table.addresses.hasOwn else { return "" }
        return "; addresses are denied, and those of the name are judged when it is connected to"
    }
}

extension ConfigurationDocument {
    func explain(_ url: String) throws(AddressError) -> Explanation {
        try Explanation(url, under: routingTable, clusters: Set(clusters.filter { !$0.relays.isEmpty }.map(\.name)))
    }
}
