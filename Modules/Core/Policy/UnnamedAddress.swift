/// No rule of the policy names an address.
///
/// Other programs, whose connections the door makes, are not led there: such a program has probably looked up a name
/// itself, so that the rules for names would not apply.
package struct UnnamedAddress: Error, Sendable, Hashable {
    package let endpoint: Endpoint
}

extension RouteDecision {
    /// The address that was asked for, if no rule names it.
    package var unnamedAddress: UnnamedAddress? {
        guard case .address = endpoint.host, rule == .default else { return nil }
        return UnnamedAddress(endpoint: endpoint)
    }
}

extension LoadError {
    package init(_ unnamed: UnnamedAddress) {
        self.init(
            .refusedByPolicy, at: .routing, "No rule names the address \(unnamed.endpoint).", underlying: unnamed)
    }
}
