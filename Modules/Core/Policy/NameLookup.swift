/// Asks the names of the inside: implemented by whoever speaks to the gateway, asked where a service is found by its name.
public protocol NameLookup: Sendable {
    /// The SRV records of a name (RFC 2782), in no order that says anything; empty where it has none.
    ///
    /// - Parameter name: with its leading labels, as `_kerberos._tcp.corp.example`.
    /// - Throws: why nobody answered, and `refusedByPolicy` where the name is none that the policy relays.
    func services(of name: String) async throws(LoadError) -> [ServiceRecord]
}

/// Where a service is (RFC 2782).
public struct ServiceRecord: Sendable, Hashable {
    /// The host that gives the service, and its port.
    public var endpoint: Endpoint
    /// The lowest is tried first.
    public var priority: UInt16
    /// Of one priority, the highest is tried first.
    public var weight: UInt16

    /// Priority and weight are 0 where they are not said.
    public init(_ endpoint: Endpoint, priority: UInt16 = 0, weight: UInt16 = 0) {
        self.endpoint = endpoint
        self.priority = priority
        self.weight = weight
    }
}
