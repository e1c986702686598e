internal import SallyportCore
public import SallyportLoading

/// Loads the requests of a scheme, or of a part of a scheme: what a plugin implements.
///
/// ```swift
/// struct UnixSocketHandler: ProtocolHandler {
///     static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "http+unix" }
///     func load(_ request: LoadRequest, into response: ResponseWriter) async throws { … }
/// }
/// ```
///
/// A session asks ``canHandle(_:)`` of its own ``SessionConfiguration/protocolClasses`` first, in their order, then
/// of the registered handlers, the last registered first. The first that says yes gets a new instance.
public protocol ProtocolHandler: Sendable {
    /// Whether this handler takes the request. Called for every request of a session: be quick and do no I/O.
    static func canHandle(_ request: LoadRequest) -> Bool

    /// The one spelling that stands for all requests that load the same; unless implemented, the request as it is.
    ///
    /// The session loads this form, once the handler has said that it takes the request, and its URL is the answer's
    /// where the handler names no other. The form of a form is the form itself, and the handler takes it. Be quick
    /// and do no I/O; where there is no such form, return the request and let ``load(_:into:)`` say what is wrong.
    static func canonicalForm(of request: LoadRequest) -> LoadRequest

    /// Makes the handler for one load, once ``canHandle(_:)`` has said yes. Be quick and do no I/O.
    init()

    /// Loads the request: begin with the head, write the body, return. Returning ends the body.
    ///
    /// Runs in a task of its own, which is cancelled when the load is cancelled, when the body is no longer wanted,
    /// when the resource time-out is over and when authorization is withdrawn. Idle time-outs are the handler's own.
    ///
    /// - Throws: a `LoadError` ends the load with it; ``RequestDeclined``, before the head, passes the request on to
    ///   the next handler; any other error ends the load with `handlerFailed`.
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws
}

extension ProtocolHandler {
    /// Returns the request as it is.
    public static func canonicalForm(of request: LoadRequest) -> LoadRequest { request }
}

/// Thrown by a ``ProtocolHandler`` before it has begun: the next handler is asked.
public struct RequestDeclined: Error {
    /// Throw it only before the head was handed over; afterwards it ends the load with `handlerFailed`.
    public init() {}
}
