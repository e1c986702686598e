public import SallyportCore

/// Opens streams of bytes to servers, relayed, direct or refused as the administrator's policy says: what a plugin and a
/// ticket client use, so that nothing goes round the policy.
public protocol RoutedTunnels: Sendable {
    /// Opens a stream. Cancelling the task gives it up.
    ///
    /// - Throws: `refusedByPolicy`, `notAuthorized` or `withdrawn` before any connection is made, and why none came about.
    func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream
}

/// What a routed tunnel is to be.
public struct RoutedTunnelRequest: Sendable, Hashable {
    public var endpoint: Endpoint
    /// Whether the stream uses TLS from the start, with the versions, the trust and the pins of the session;
    /// ``ByteStream/startTLS(_:)`` begins it later.
    public var isSecure: Bool
    /// The longest time until the tunnel stands, for each relay tried; the session's (10 s) if nil.
    public var connectTimeout: Duration?
    /// The longest time that a read or a write waits without a byte in either direction; no limit if nil.
    public var idleTimeout: Duration?
    /// The instant at which the stream ends, even if it is in use; none if nil.
    public var deadline: ContinuousClock.Instant?

    public init(to endpoint: Endpoint, isSecure: Bool = false, connectTimeout: Duration? = nil) {
        self.endpoint = endpoint
        self.isSecure = isSecure
        self.connectTimeout = connectTimeout
    }
}
