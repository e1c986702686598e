public import HTTPTypes
public import SallyportCore
public import SallyportLoading

/// Takes the answer of a ``ProtocolHandler``: the head once, then the body.
public struct ResponseWriter: Sendable {
    /// What holds for the load: deadline, time-outs, principal, and the logger to use.
    public let context: LoadContext
    private let target: any ResponseTarget
    private let url: RequestURL

    package init(_ target: any ResponseTarget, url: RequestURL, context: LoadContext) {
        self.target = target
        self.url = url
        self.context = context
    }

    /// Streams of bytes to servers; in a secure session, relayed, direct or refused as the policy says. The handler
    /// that opens a stream closes it.
    public var tunnels: any RoutedTunnels { target.tunnels }

    /// Hands over the head. The caller's `bytes(for:)` returns with it.
    ///
    /// - Parameter url: the URL that answered, if it is not the request's.
    /// - Throws: `handlerFailed` if the handler has begun before.
    public func begin(_ head: HTTPResponse, from url: RequestURL? = nil) throws(LoadError) {
        try target.begin(head, url: url ?? self.url, facts: LoadFacts())
    }

    /// Hands over bytes of the body; returns when there is room for more.
    ///
    /// - Throws: `handlerFailed` before the head; `cancelled` or `connectionLost` once the body's reader is gone.
    public func write(_ bytes: [UInt8]) async throws(LoadError) { try await target.write(bytes) }

    /// Hands over a whole answer, and its body as it comes.
    public func forward(_ response: LoadResponse) async throws(LoadError) {
        try target.begin(response.head, url: response.url, facts: response.facts)
        while let chunk = try await response.body.next() { try await target.write(chunk) }
    }

    /// Loads a request with the session's own handler for `http` and `https`: relayed, direct or refused as policy
    /// says where the session is secure. Redirects are followed and credentials found as for any load of the session.
    ///
    /// What a handler answers with that was had here is handed over with ``forward(_:)``. Other handlers are not asked,
    /// so a handler that takes `http` itself does not meet itself. The load's deadline, time-outs and principal hold.
    ///
    /// - Throws: `unsupportedScheme` for other URLs, and all that a load throws; let it go through.
    public func loadHTTP(_ request: LoadRequest) async throws(LoadError) -> LoadResponse {
        try await target.http.load(request, in: context)
    }
}

/// Where a ``ResponseWriter`` leads: to a load, or to what watches a handler in a test.
package protocol ResponseTarget: Sendable {
    /// The session's own way for `http` and `https`.
    var http: LoadChain { get }
    /// The session's own way for streams of bytes.
    var tunnels: any RoutedTunnels { get }
    func begin(_ head: HTTPResponse, url: RequestURL, facts: LoadFacts) throws(LoadError)
    func write(_ bytes: [UInt8]) async throws(LoadError)
}

extension ResponseTarget {
    package var tunnels: any RoutedTunnels { NoTunnels() }
}

/// Where there is no session.
private struct NoTunnels: RoutedTunnels {
    func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream {
        throw LoadError(.unsupportedScheme, at: .routing, "No session is here to open tunnels.")
    }
}
