internal import SallyportCore
public import SallyportLoading

/// Loads `http` and `https` across the firewall: relayed, direct or refused, as the administrator's policy says.
///
/// Registered for all sessions of an instance while secure communication is enabled. An app can list it in
/// ``SessionConfiguration/protocolClasses`` to place it among its own handlers. The system session, which has no
/// policy, skips it.
public struct SecureHTTPHandler: ProtocolHandler {
    public init() {}

    /// Whether the URL is one of `http` or `https`.
    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }

    /// Loads the request as the session itself would, and forwards the answer.
    ///
    /// - Throws: the `LoadError` with which the load ends.
    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try await response.forward(response.loadHTTP(request))
    }
}

/// Loads `http` and `https` directly from this machine: no relay, no policy, no cookies, cache, authentication or
/// store. The system session uses it. Secure sessions skip it, so that no load bypasses the policy.
public struct SystemHTTPHandler: ProtocolHandler {
    public init() {}

    /// Whether the URL is one of `http` or `https`.
    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }

    /// Loads the request directly, and forwards the answer.
    ///
    /// - Throws: the `LoadError` with which the load ends.
    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try await response.forward(response.loadHTTP(request))
    }
}
