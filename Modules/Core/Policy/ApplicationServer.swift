/// One of the servers that an administrator lists for an application, which the application can look up.
public struct ApplicationServer: Sendable, Hashable {
    /// Its host and port; how it is reached is a matter of the policy.
    public let endpoint: Endpoint
    /// Server 1 is tried first; among equals, a random one.
    public let priority: Int

    public init(_ endpoint: Endpoint, priority: Int = 1) {
        self.endpoint = endpoint
        self.priority = priority
    }
}
