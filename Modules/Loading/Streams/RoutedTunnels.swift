public import SallyportCore

/// Opens byte streams to servers, relayed, direct or refused as the administrator's policy says: plugins and ticket
/// clients use it, so that no connection bypasses the policy.
public protocol RoutedTunnels: Sendable {
    /// Opens a stream. Cancelling the task cancels the attempt.
    ///
    /// - Throws: `refusedByPolicy`, `notAuthorized` or `withdrawn` before any connection is made; the error if none
    ///   could be made.
    func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream
}

/// The server and the settings of a routed tunnel.
public struct RoutedTunnelRequest: Sendable, Hashable {
    /// The server; the administrator's policy decides how it is reached.
    public var endpoint: Endpoint
    /// Whether the stream uses TLS from the start, with the versions, the trust and the pins of the session;
    /// ``ByteStream/startTLS(_:)`` begins it later.
    public var isSecure: Bool
    /// The time limit for connecting, for each relay that is tried; the session's (10 s) if nil.
    public var connectTimeout: Duration?
    /// The longest time that a read or a write waits without a byte in either direction; no limit if nil.
    public var idleTimeout: Duration?
    /// The instant at which the stream ends, even if it is in use; none if nil.
    public var deadline: ContinuousClock.Instant?

    /// - Parameters:
    ///   - endpoint: the server.
    ///   - isSecure: whether TLS begins at once; by default it does not.
    ///   - connectTimeout: for each relay that is tried; the session's (10 s) if nil.
    public init(to endpoint: Endpoint, isSecure: Bool = false, connectTimeout: Duration? = nil) {
        self.endpoint = endpoint
        self.isSecure = isSecure
        self.connectTimeout = connectTimeout
    }
}
