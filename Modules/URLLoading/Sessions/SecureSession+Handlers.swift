internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading

// The handlers of a session: this module's, and those of plugins.
extension SecureSession {
    /// Asks the handlers in their order.
    func load(_ request: LoadRequest, in context: LoadContext) async throws(LoadError) -> LoadResponse {
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

    /// The handlers to ask, in order.
    var entries: [HandlerEntry] {
        let registered = isSystem ? registry.systemEntries : registry.secureEntries
        guard hasOwnHandlers else { return registered }
        return configuration.handlers.map(HandlerEntry.plugin) + configuration.protocolClasses.map(HandlerEntry.init)
            + registered
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
        let life = life
        let load = HandlerLoad(tag: tag, http: chain, tunnels: tunnels.of(context.principal))
        let number = life.whenEnded { load.end(with: $0) }
        // Checked once the load is known: a withdrawal, or the end of the session, either ends it or is seen here.
        do throws(LoadError) {
            try life.checkAccess()
        } catch {
            life.forget(number)
            throw error
        }
        let outcome = await load.run(handler, handler.canonicalForm(of: request), in: context) { life.forget(number) }
        switch outcome {
        case .response(let response): return response
        case .declined: return nil
        case .failed(let failure): throw failure
        }
    }
}
