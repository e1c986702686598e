public import HTTPTypes
public import SallyportCore
public import SallyportLoading

/// Takes the answer of a ``ProtocolHandler``: the head once, then the body.
public struct ResponseWriter: Sendable {
    /// The load's deadline, time-outs, principal and logger.
    public let context: LoadContext
    private let target: any ResponseTarget
    private let url: RequestURL

    package init(_ target: any ResponseTarget, url: RequestURL, context: LoadContext) {
        self.target = target
        self.url = url
        self.context = context
    }

    /// Byte streams to servers; in a secure session, relayed, direct or refused as the policy says. The handler that
    /// opens a stream must close it.
    public var tunnels: any RoutedTunnels { target.tunnels }

    /// Hands over the head. The caller's `bytes(for:)` returns with it.
    ///
    /// - Parameters:
    ///   - head: the answer's status and fields.
    ///   - url: the URL that answered, if it is not the request's.
    /// - Throws: `handlerFailed` if the handler has begun before.
    public func begin(_ head: HTTPResponse, from url: RequestURL? = nil) throws(LoadError) {
        try target.begin(head, url: url ?? self.url, facts: LoadFacts())
    }

    /// Hands over bytes of the body; returns when there is room for more.
    ///
    /// - Throws: `handlerFailed` before the head; `cancelled` or `connectionLost` once the body's reader is gone.
    public func write(_ bytes: [UInt8]) async throws(LoadError) { try await target.write(bytes) }

    /// Hands over a whole answer: its body as it comes, then its trailers.
    public func forward(_ response: LoadResponse) async throws(LoadError) {
        try target.begin(response.head, url: response.url, facts: response.facts)
        while let chunk = try await response.body.next() { try await target.write(chunk) }
        target.keep(response.body.trailers)
    }

    /// Loads a request with the session's own handler for `http` and `https`: relayed, direct or refused by the policy
    /// if the session is secure. Redirects are followed and credentials used as for any load of the session.
    ///
    /// Pass the answer on with ``forward(_:)``. Other handlers are not asked, so a handler for `http` never calls
    /// itself. The load's deadline, time-outs and principal apply.
    ///
    /// - Throws: `unsupportedScheme` for other URLs, and all errors of a load; do not catch them.
    public func loadHTTP(_ request: LoadRequest) async throws(LoadError) -> LoadResponse {
        try await target.http.load(request, in: context)
    }
}

/// The target of a ``ResponseWriter``: a load, or a test's recorder.
package protocol ResponseTarget: Sendable {
    /// The session's own way for `http` and `https`.
    var http: LoadChain { get }
    /// The session's own way to open byte streams.
    var tunnels: any RoutedTunnels { get }
    func begin(_ head: HTTPResponse, url: RequestURL, facts: LoadFacts) throws(LoadError)
    func write(_ bytes: [UInt8]) async throws(LoadError)
    /// Of an answer that is passed on, after its body.
    func keep(_ trailers: HTTPFields?)
}

extension ResponseTarget {
    package func keep(_ trailers: HTTPFields?) {}

    package var tunnels: any RoutedTunnels { NoTunnels() }
}

/// For targets without a session.
private struct NoTunnels: RoutedTunnels {
    func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream {
        throw LoadError(.unsupportedScheme, at: .routing, "No session is here to open tunnels.")
    }
}
