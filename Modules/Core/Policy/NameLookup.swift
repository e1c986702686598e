/// Looks up names in the enterprise's DNS, to find services by their names; implemented by the connection to the
/// gateway.
public protocol NameLookup: Sendable {
    /// The SRV records of a name (RFC 2782), in no particular order; empty if it has none.
    ///
    /// - Parameter name: with its leading labels, as `_kerberos._tcp.corp.example`.
    /// - Throws: the error if there was no answer, and `refusedByPolicy` if the policy does not relay the name.
    func services(of name: String) async throws(LoadError) -> [ServiceRecord]
}

/// The location of a service (RFC 2782).
public struct ServiceRecord: Sendable, Hashable {
    /// The host that offers the service, and its port.
    public var endpoint: Endpoint
    /// The lowest is tried first.
    public var priority: UInt16
    /// Among equal priorities, the highest is tried first.
    public var weight: UInt16

    /// Priority and weight default to 0.
    public init(_ endpoint: Endpoint, priority: UInt16 = 0, weight: UInt16 = 0) {
        self.endpoint = endpoint
        self.priority = priority
        self.weight = weight
    }
}
