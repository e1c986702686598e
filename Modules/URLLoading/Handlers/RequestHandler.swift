public import SallyportLoading

/// Loads requests like a ``ProtocolHandler``, but is an object that the app creates: for handlers that have settings or
/// keep state between loads.
///
/// ```swift
/// configuration.handlers = [try await Cassette.open("Fixtures/report.json", mode: .replay)]
/// ```
///
/// The app creates one and passes it to sessions in ``SessionConfiguration/handlers``; it serves all their loads, also
/// several at once. Otherwise the rules of ``ProtocolHandler`` apply.
public protocol RequestHandler: Sendable {
    /// Whether this handler takes the request. Called for every request of a session: be quick and do no I/O.
    func canHandle(_ request: LoadRequest) -> Bool

    /// As `ProtocolHandler.canonicalForm(of:)`; unless implemented, the request as it is.
    func canonicalForm(of request: LoadRequest) -> LoadRequest

    /// As ``ProtocolHandler/load(_:into:)``.
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws
}

extension RequestHandler {
    /// Returns the request as it is.
    public func canonicalForm(of request: LoadRequest) -> LoadRequest { request }
}

/// A handler that is given as a type: a new one for each load.
struct HandlerOfType: RequestHandler {
    let type: any ProtocolHandler.Type

    func canHandle(_ request: LoadRequest) -> Bool { type.canHandle(request) }
    func canonicalForm(of request: LoadRequest) -> LoadRequest { type.canonicalForm(of: request) }
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try await type.init().load(request, into: response)
    }
}
