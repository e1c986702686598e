public import HTTPTypes
public import SallyportBase
internal import SallyportConnecting
public import SallyportCore
public import SallyportLoading

extension SecureSession {
    /// A task that loads a request and collects the body.
    ///
    /// - Parameters:
    ///   - request: what is loaded.
    ///   - limit: the longest body; one byte more ends the load with `responseTooLarge`.
    ///   - options: priority, and when the task begins.
    ///   - delegate: answers this load's questions before the session's does.
    public func dataTask(
        for request: LoadRequest, upTo limit: ByteCount = .mebibytes(16), options: LoadTaskOptions = LoadTaskOptions(),
        delegate: (any SessionDelegate)? = nil
    ) -> LoadTask<LoadAnswer<[UInt8]>> {
        task(for: request, options, delegate) { request, control throws(LoadError) in
            try await self.steeredResponse(to: request, delegate, control).collected(upTo: limit)
        }
    }

    /// A task that sends a body and collects that of the answer.
    ///
    /// - Parameters:
    ///   - request: a `GET` becomes a `POST`.
    ///   - body: bytes, a file, or a stream; see `RequestBody` for what can be sent again after a redirect.
    ///   - limit: the longest body of the answer; one byte more ends the load with `responseTooLarge`.
    ///   - options: priority, and when the task begins.
    ///   - delegate: answers this load's questions before the session's does.
    public func uploadTask(
        for request: LoadRequest, from body: RequestBody, upTo limit: ByteCount = .mebibytes(16),
        options: LoadTaskOptions = LoadTaskOptions(), delegate: (any SessionDelegate)? = nil
    ) -> LoadTask<LoadAnswer<[UInt8]>> {
        dataTask(for: request.uploading(body), upTo: limit, options: options, delegate: delegate)
    }

    /// A task that loads a request into a file, which appears only when the body is whole and synced to disk: as
    /// ``download(for:to:isolation:progress:keeping:)``. Its value is the head of the answer.
    ///
    /// - Parameters:
    ///   - request: what is loaded.
    ///   - path: the target; a file that stands there is replaced. Its directory must exist.
    ///   - isResumable: continues an earlier download that was interrupted, as
    ///     ``resumeDownload(for:to:isolation:progress:keeping:)``.
    ///   - options: priority, and when the task begins.
    ///   - delegate: answers this load's questions before the session's does.
    ///   - isKept: whether an answer with this head becomes the file.
    public func downloadTask(
        for request: LoadRequest, to path: String, isResumable: Bool = false,
        options: LoadTaskOptions = LoadTaskOptions(), delegate: (any SessionDelegate)? = nil,
        keeping isKept: @escaping @Sendable (HTTPResponse) -> Bool = { $0.status.kind == .successful }
    ) -> LoadTask<HTTPResponse> {
        task(for: request, options, delegate) { request, control throws(LoadError) in
            let source = DownloadSource(session: self, delegate: delegate, control: control)
            let tell: (TransferProgress) -> Void = { control.receivedProgress.set($0) }
            let result =
                isResumable
                ? try await self.resumedResult(for: request, to: path, keeping: isKept, from: source, progress: tell)
                : try await self.downloadResult(for: request, to: path, keeping: isKept, from: source, progress: tell)
            return result.response.head
        }
    }

    /// A task that loads a request; its value is returned with the head, while the body arrives. The task is completed
    /// when the body was read to its end or is no longer wanted. The task retains the body: an unread body ends with
    /// both.
    ///
    /// - Parameters:
    ///   - request: what is loaded.
    ///   - options: priority, and when the task begins.
    ///   - delegate: answers this load's questions before the session's does.
    public func bytesTask(
        for request: LoadRequest, options: LoadTaskOptions = LoadTaskOptions(), delegate: (any SessionDelegate)? = nil
    ) -> LoadTask<LoadResponse> {
        task(for: request, options, delegate, hasBody: true) { request, control throws(LoadError) in
            try await self.steeredResponse(to: request, delegate, control, endsTask: true)
        }
    }

    /// Opens a byte stream to a server, by the policy and with the settings of this session.
    ///
    /// Returns once the stream is open. Cancelling the task cancels the attempt. To begin TLS later, use
    /// `ByteStream.startTLS(_:)`; to end the stream, `close()` or `reset()`.
    ///
    /// - Parameters:
    ///   - endpoint: the server's host and port.
    ///   - isSecure: whether the stream uses TLS from the start.
    ///   - idleTimeout: the longest time that a read or a write waits without a byte in either direction; if nil, the
    ///     session's.
    ///   - resourceTimeout: the longest time for the whole stream; if nil, the session's.
    /// - Throws: why the session accepts no request now, `refusedByPolicy`, and the error if no connection was made.
    public func streamTask(
        to endpoint: Endpoint, isSecure: Bool = false, idleTimeout: Duration? = nil, resourceTimeout: Duration? = nil
    ) async throws(LoadError) -> ByteStream {
        try admit()
        var request = RoutedTunnelRequest(to: endpoint, isSecure: isSecure)
        request.idleTimeout = idleTimeout ?? configuration.idleTimeout
        request.deadline = .now + (resourceTimeout ?? configuration.resourceTimeout)
        try running.begin()
        do throws(LoadError) {
            let stream = try await tunnels.open(request, asking: responder(for: endpoint))
            stream.channel.whenOver { [running] in running.end() }
            return stream
        } catch {
            running.end()
            throw error
        }
    }

    /// The responder for questions about a stream's server: the session's delegate, as for a load from that server.
    private func responder(for endpoint: Endpoint) -> DelegateResponder? {
        guard delegate != nil, let url = try? RequestURL("https://\(endpoint)/") else { return nil }
        return DelegateResponder(session: self, request: LoadRequest(.get, url), own: nil)
    }

    // MARK: What tasks have in common

    private func task<Value: Sendable>(
        for request: LoadRequest, _ options: LoadTaskOptions, _ delegate: (any SessionDelegate)?, hasBody: Bool = false,
        _ load: @escaping LoadTaskWork<Value>.Load
    ) -> LoadTask<Value> {
        let delegates = DelegateResponder(session: self, request: request, own: delegate)
        return LoadTask(request, LoadTaskWork(request, options, asking: delegates, hasBody: hasBody, load))
    }

    /// The answer to a task's request, with a body that the task controls and observes.
    func steeredResponse(
        to request: LoadRequest, _ delegate: (any SessionDelegate)?, _ control: LoadTaskControl, endsTask: Bool = false,
        counts: Bool = true
    ) async throws(LoadError) -> LoadResponse {
        var response = try await response(to: request, collectsUpTo: nil, delegate, control: control)
        control.answered(response.head)
        response.body = ResponseBody(TaskBody(response, control, endsTask: endsTask, counts: counts))
        return response
    }
}

extension LoadRequest {
    /// The request with a body, which a GET does not have.
    func uploading(_ body: RequestBody) -> LoadRequest {
        var request = self
        if request.method == .get { request.method = .post }
        request.body = body
        return request
    }
}

/// Where a download gets its answers.
package struct DownloadSource: Sendable {
    let session: SecureSession
    var delegate: (any SessionDelegate)?
    /// Of a download that is a task.
    var control: LoadTaskControl?

    /// - Throws: also `protocolViolation` for a part, if the request does not ask for one (RFC 9110 §15.3.7): it would
    ///   be taken for the whole.
    func response(to request: LoadRequest) async throws(LoadError) -> LoadResponse {
        let response = try await answer(to: request)
        guard response.head.status != .partialContent || request.headerFields[.range] != nil else {
            response.body.discard()
            throw LoadError(
                .protocolViolation, at: .response, "The server answered with a part that was not asked for.")
        }
        return response
    }

    private func answer(to request: LoadRequest) async throws(LoadError) -> LoadResponse {
        guard let control else { return try await session.bytes(for: request, delegate: delegate) }
        return try await session.steeredResponse(to: request, delegate, control, counts: false)
    }
}
