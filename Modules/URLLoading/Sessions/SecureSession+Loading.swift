internal import HTTPTypes
internal import Logging
public import SallyportBase
internal import SallyportConnecting
public import SallyportCore
public import SallyportLoading

extension SecureSession {
    /// Loads a request; returns with the head while the body comes.
    ///
    /// Reading the body slowly slows the server down. Leaving it unread, or leaving its loop early, ends the
    /// transfer. Any HTTP status is an answer, not an error.
    ///
    /// A body that streams has a connection to itself, also with HTTP/2: libcurl 7.88 reads nothing for the other
    /// streams of a connection while one of them is not read. ``data(for:upTo:delegate:)`` shares connections.
    ///
    /// - Parameters:
    ///   - request: what is loaded.
    ///   - delegate: answers this load's challenges before the session's does.
    /// - Throws: `LoadError`; its code says what failed and its step how far the load had come.
    public func bytes(
        for request: LoadRequest, delegate: (any SessionDelegate)? = nil
    ) async throws(LoadError) -> LoadResponse {
        try await response(to: request, collectsUpTo: nil, delegate)
    }

    /// - Parameters:
    ///   - limit: up to which length the caller takes the body at once; nil if it streams.
    ///   - control: the task that the load is of.
    package func response(
        to request: LoadRequest, collectsUpTo limit: ByteCount?, _ delegate: (any SessionDelegate)?,
        control: (any TransferControl)? = nil
    ) async throws(LoadError) -> LoadResponse {
        try admit()
        // A task was counted when it was first resumed.
        if let control, control is LoadTaskControl { running.beginWithin() } else { try running.begin() }
        do throws(LoadError) {
            var response = try await admitted(request, collectsUpTo: limit, delegate, control: control)
            response.body = ResponseBody(RunningBody(response.body, of: running))
            return response
        } catch {
            running.end()
            throw error
        }
    }

    private func admitted(
        _ request: LoadRequest, collectsUpTo limit: ByteCount?, _ delegate: (any SessionDelegate)?,
        control: (any TransferControl)? = nil
    ) async throws(LoadError) -> LoadResponse {
        let request = prepared(request)
        let context = context(for: request, collectsUpTo: limit, delegate: delegate, control: control)
        return try await load(request, admittedIn: context)
    }

    /// - Parameter request: with the session's fields, and admitted.
    func load(
        _ request: LoadRequest, admittedIn context: LoadContext
    ) async throws(LoadError) -> LoadResponse {
        guard let recorder = context.recorder else {
            guard goesToChain(request) else { return try await load(request, in: context) }
            logBegin(of: request, in: context)
            return try await chain.load(request, in: context)
        }
        return try await recorded(request, by: recorder) { request throws(LoadError) in
            try await self.load(request, in: context)
        }
    }

    /// Loads a request and collects the body.
    ///
    /// - Parameters:
    ///   - request: what is loaded.
    ///   - limit: the longest body; one byte more ends the load with `responseTooLarge`.
    ///   - delegate: answers this load's challenges before the session's does.
    public func data(
        for request: LoadRequest, upTo limit: ByteCount = .megabytes(16), delegate: (any SessionDelegate)? = nil
    ) async throws(LoadError) -> LoadAnswer<[UInt8]> {
        try admit()
        try running.begin()
        defer { running.end() }
        let response = try await admitted(request, collectsUpTo: limit, delegate)
        if let answer = try response.held(upTo: limit) { return answer }
        return try await response.collected(upTo: limit)
    }

    /// Sends a body and collects that of the answer.
    ///
    /// - Parameters:
    ///   - request: a `GET` becomes a `POST`.
    ///   - body: bytes, a file, or a stream; see `RequestBody` for what can be sent again after a redirect.
    ///   - limit: the longest body of the answer; one byte more ends the load with `responseTooLarge`.
    ///   - delegate: answers this load's challenges before the session's does.
    public func upload(
        for request: LoadRequest, from body: RequestBody, upTo limit: ByteCount = .megabytes(16),
        delegate: (any SessionDelegate)? = nil
    ) async throws(LoadError) -> LoadAnswer<[UInt8]> {
        try await data(for: request.uploading(body), upTo: limit, delegate: delegate)
    }

    /// Asks the handlers in their order.
    private func load(_ request: LoadRequest, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        logBegin(of: request, in: context)
        for entry in entries where takes(entry, request) {
            switch entry {
            case .secureHTTP, .systemHTTP: return try await chain.load(request, in: context)
            case .plugin(let handler):
                if let response = try await load(request, with: handler, in: context) { return response }
            }
        }
        throw untaken()
    }

    private func logBegin(of request: LoadRequest, in context: LoadContext) {
        context.logger.trace(
            "Loading.", metadata: ["request": "\(context.requestID)", "method": "\(request.method.rawValue)"])
    }

    /// Whether the entry's handler would be given the request.
    func takes(_ entry: HandlerEntry, _ request: LoadRequest) -> Bool {
        switch entry {
        case .secureHTTP: !isSystem && request.url.endpoint != nil
        case .systemHTTP: isSystem && request.url.endpoint != nil
        case .plugin(let handler): handler.canHandle(request)
        }
    }

    /// Why no handler takes a request.
    func untaken() -> LoadError {
        do throws(LoadError) {
            try engine.checkAuthorized()
            return LoadError(.unsupportedScheme, at: .routing, "No handler accepts the request.")
        } catch {
            return error
        }
    }

    /// Nil if the handler passes the request on.
    private func load(
        _ request: LoadRequest, with handler: any RequestHandler, in context: LoadContext
    ) async throws(LoadError) -> LoadResponse? {
        try engine.checkAuthorized()
        let loads = engine.loads
        let load = HandlerLoad(tag: tag, http: chain, tunnels: tunnels.of(context.principal))
        let number = loads.insert(tag) { load.end(with: $0) }
        let outcome = await load.run(handler, handler.canonicalForm(of: request), in: context) { loads.remove(number) }
        switch outcome {
        case .response(let response): return response
        case .declined: return nil
        case .failed(let failure): throw failure
        }
    }
}
