internal import SallyportCore
public import SallyportLoading

/// Loads `http` and `https` across the firewall: relayed, direct or refused, as the administrator's policy says.
///
/// Registered for all sessions of an instance while secure communication is enabled. Stands in
/// ``SessionConfiguration/protocolClasses`` where an app wants to fix its place among handlers of its own. The system
/// session, which has no policy to ask, passes it over.
public struct SecureHTTPHandler: ProtocolHandler {
    public init() {}

    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }

    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try await response.forward(response.loadHTTP(request))
    }
}

/// Loads `http` and `https` straight from this machine: no relay, no policy, no cookies, cache, authentication or
/// store. What the system session loads with. Secure sessions pass it over, so that nothing goes round the policy.
public struct SystemHTTPHandler: ProtocolHandler {
    public init() {}

    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }

    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try await response.forward(response.loadHTTP(request))
    }
}
