public import SallyportCore

/// Opens streams of bytes to servers, relayed, direct or refused as the administrator's policy says: what a plugin and a
/// ticket client use, so that nothing goes round the policy.
public protocol RoutedTunnels: Sendable {
    /// Opens a stream. Cancelling the task gives it up.
    ///
    /// - Throws: `refusedByPolicy`, `notAuthorized` or `withdrawn` before any connection is made, and why none came about.
    func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> any RoutedTunnel
}

/// What a routed tunnel is to be.
public struct RoutedTunnelRequest: Sendable, Hashable {
    public var endpoint: Endpoint
    /// Whether TLS is spoken with the server, with the versions, the trust and the pins of the session.
    public var isSecure: Bool
    /// The longest time until the tunnel stands, for each relay tried; the session's (10 s) where nil.
    public var connectTimeout: Duration?

    public init(to endpoint: Endpoint, isSecure: Bool = false, connectTimeout: Duration? = nil) {
        self.endpoint = endpoint
        self.isSecure = isSecure
        self.connectTimeout = connectTimeout
    }
}

/// A stream of bytes to one server. One task may read while another writes. Releasing it closes it.
public protocol RoutedTunnel: Sendable {
    /// The route, and the rule that decided; nil where no policy was asked.
    var decision: RouteDecision? { get }

    /// The next bytes, as many as lie ready; nil once the server has ended its side. Cancelling the task ends the
    /// reading for good.
    func read() async throws(LoadError) -> [UInt8]?

    /// Sends bytes; returns when there is room for more.
    func write(_ bytes: [UInt8]) async throws(LoadError)

    /// Ends the direction to the server once all is sent, and leaves the other open.
    func closeWrite()

    /// Ends both directions at once.
    func close()
}
