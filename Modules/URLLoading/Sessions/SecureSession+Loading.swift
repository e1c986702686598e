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
        let period = engine.withdrawals.period
        try admit()
        // A task was counted when it was first resumed.
        if control != nil { running.beginWithin() } else { try running.begin() }
        do throws(LoadError) {
            var response = try await admitted(request, collectsUpTo: limit, delegate, control: control)
            response.body = ResponseBody(RunningBody(response.body, of: running, in: period))
            return response
        } catch {
            running.end()
            throw error
        }
    }

    @inline(__always)
    private func admitted(
        _ request: LoadRequest, collectsUpTo limit: ByteCount?, _ delegate: (any SessionDelegate)?,
        control: (any TransferControl)? = nil
    ) async throws(LoadError) -> LoadResponse {
        guard configuration.additionalHeaders.isEmpty else {
            return try await loadPrepared(request, collectsUpTo: limit, delegate, control: control)
        }
        let context = context(for: request, collectsUpTo: limit, delegate: delegate, control: control)
        return try await load(request, admittedIn: context)
    }

    /// Loads a request with the session's fields. Apart, so that a request that gets none is not copied.
    private func loadPrepared(
        _ request: LoadRequest, collectsUpTo limit: ByteCount?, _ delegate: (any SessionDelegate)?,
        control: (any TransferControl)?
    ) async throws(LoadError) -> LoadResponse {
        let request = prepared(request)
        let context = context(for: request, collectsUpTo: limit, delegate: delegate, control: control)
        return try await load(request, admittedIn: context)
    }

    /// Awaits nothing but the answer of a request that all stages pass, and that has no observer: the code for other
    /// requests is apart, so that this can be a part of its callers.
    ///
    /// - Parameter request: with the session's fields, and admitted.
    @inline(__always)
    func load(
        _ request: LoadRequest, admittedIn context: LoadContext
    ) async throws(LoadError) -> LoadResponse {
        guard context.recorder == nil, goesToChain(request) else {
            return try await loadApart(request, in: context)
        }
        logBegin(of: request, in: context)
        let descent = chain.descent(of: request, in: context)
        guard chain.reachesLast(descent) else {
            return try await chain.load(after: descent, in: context)
        }
        var response = try await sender.send(descent.request, in: context)
        guard descent.isWanted(&response) else { return response }
        return try await chain.ascend(with: response, after: descent, in: context)
    }

    private func loadApart(
        _ request: LoadRequest, in context: LoadContext
    ) async throws(LoadError) -> LoadResponse {
        guard let recorder = context.recorder else { return try await load(request, in: context) }
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
        for request: LoadRequest, upTo limit: ByteCount = .mebibytes(16), delegate: (any SessionDelegate)? = nil
    ) async throws(LoadError) -> LoadAnswer<[UInt8]> {
        let period = engine.withdrawals.period
        try admit()
        try running.begin()
        defer { running.end() }
        var response = try await admitted(request, collectsUpTo: limit, delegate)
        guard let bytes = try response.body.held(upTo: limit) else {
            let answer = try await response.collected(upTo: limit)
            try period.check()
            return answer
        }
        try period.check()
        return response.taken(with: bytes)
    }

    /// Sends a body and collects that of the answer.
    ///
    /// - Parameters:
    ///   - request: a `GET` becomes a `POST`.
    ///   - body: bytes, a file, or a stream; see `RequestBody` for what can be sent again after a redirect.
    ///   - limit: the longest body of the answer; one byte more ends the load with `responseTooLarge`.
    ///   - delegate: answers this load's challenges before the session's does.
    public func upload(
        for request: LoadRequest, from body: RequestBody, upTo limit: ByteCount = .mebibytes(16),
        delegate: (any SessionDelegate)? = nil
    ) async throws(LoadError) -> LoadAnswer<[UInt8]> {
        try await data(for: request.uploading(body), upTo: limit, delegate: delegate)
    }

    func logBegin(of request: LoadRequest, in context: LoadContext) {
        context.logger.trace(
            "Loading.", metadata: ["request": "\(context.requestID)", "method": "\(request.method.rawValue)"])
    }
}

// MARK: Before a load

extension SecureSession {
    /// - Throws: why the session takes no request now.
    func admit() throws(LoadError) {
        try engine.checkSwitchedOn()
        try life.check()
    }

    /// The request with the session's fields, where it has none of the name.
    func prepared(_ request: LoadRequest) -> LoadRequest {
        guard !configuration.additionalHeaders.isEmpty else { return request }
        var request = request
        for field in configuration.additionalHeaders
        where !request.headerFields.contains(where: { $0.name == field.name }) {
            request.headerFields.append(field)
        }
        return request
    }

    func context(
        for request: LoadRequest, collectsUpTo limit: ByteCount?, delegate own: (any SessionDelegate)?,
        control: (any TransferControl)? = nil
    ) -> LoadContext {
        let options = request.differing?.options
        let hasDelegate = own != nil || delegate != nil
        let isRecorded = recordsAll || own != nil || options?.isRecorded == true
        let requestID = LoadNumbers.next()
        let deadline = ContinuousClock.Instant.now + (options?.resourceTimeout ?? configuration.resourceTimeout)
        let recorder = isRecorded ? recorder(for: request, requestID, delegate: own) : nil
        control?.began(until: deadline)
        return LoadContext(
            LoadContext.Values(
                requestID: requestID, deadline: deadline,
                idleTimeout: options?.idleTimeout ?? configuration.idleTimeout, principal: principal(of: request),
                collectsUpTo: limit,
                responder: hasDelegate ? DelegateResponder(session: self, request: request, own: own) : nil,
                control: control, recorder: recorder,
                methods: MethodPreferences(
                    prefersStrongest: configuration.prefersStrongest,
                    allowsBasicOverPlainHTTP: options?.allowsBasicOverPlainHTTP
                        ?? configuration.allowsBasicOverPlainHTTP),
                terms: terms))
    }

    /// Whether the handler of this module would be asked first, and would take the request: most sessions have no other.
    func goesToChain(_ request: LoadRequest) -> Bool {
        !hasOwnHandlers && request.url.hasEndpoint
            && (isSystem ? registry.isSystemHTTPFirst : registry.isSecureHTTPFirst)
    }

    /// Whether loads go direct and ask no policy.
    var isSystem: Bool { engine.gate == nil }

    private func principal(of request: LoadRequest) -> Principal {
        engine.principals?.principal(of: request) ?? request.differing?.options.principal ?? configuration.principal
    }
}
