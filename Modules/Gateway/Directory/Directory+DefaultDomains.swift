internal import SallyportWire

// The domains to which names without a domain may belong.
extension Directory {
    /// - Parameter domains: in the order in which they are considered; none ends what was set.
    mutating func setDefaultDomains(_ domains: [String]) throws(GatewayError) {
        let limit = ConfigurationDocument.Limits.defaultDomains
        guard domains.count <= limit else {
            throw GatewayError(.invalid, "There are at most \(limit) default domains.")
        }
        var names: [String] = []
        for text in domains {
            guard let name = try? Self.domain(text) else {
                throw GatewayError(.invalid, "A default domain is a name such as corp.example.")
            }
            guard !names.contains(name) else { throw GatewayError(.invalid, "Default domain \(name) stands twice.") }
            names.append(name)
        }
        defaultDomains = names.isEmpty ? nil : names
    }
}
