public import HTTPTypes
public import SallyportCore
public import SallyportLoading

extension SecureSession {
    /// Loads a request into a file, which appears only when the body is complete and synced to disk.
    ///
    /// The body is written to a hidden file beside the target and renamed; after a failure or cancellation the target
    /// is unchanged. Compression is not requested, so that the total is known.
    ///
    /// - Parameters:
    ///   - request: what is loaded.
    ///   - path: the target. An existing file is replaced and its mode kept. The directory must exist.
    ///   - isolation: the caller's actor, on which the closures run.
    ///   - progress: called on the caller's task with the head, after each chunk, and never after the return.
    ///   - isKept: whether the body of a response with this head becomes the file; by default that of a successful
    ///     (2xx) one. The body of any other response is not read, and the target is not touched.
    /// - Returns: the head of the response, kept or not.
    /// - Throws: `fileSystem` if the file cannot be written, `protocolViolation` if the server sends a part (206) that
    ///   the request does not ask for, and all that ``bytes(for:delegate:)`` throws.
    @discardableResult
    public func download(
        for request: LoadRequest, to path: String, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void = { _ in },
        keeping isKept: (HTTPResponse) -> Bool = { $0.status.kind == .successful }
    ) async throws(LoadError) -> HTTPResponse {
        try await downloadResult(for: request, to: path, keeping: isKept, progress: progress).response.head
    }

    /// As ``download(for:to:isolation:progress:keeping:)``, with the facts of the load, and what it did.
    ///
    /// - Parameters:
    ///   - umask: of the process for which this one loads, which decides the mode of a new file; nil for this one's own.
    ///   - source: what answers the request; the session itself by default.
    package func downloadResult(
        for request: LoadRequest, to path: String, keeping isKept: (HTTPResponse) -> Bool, umask: UInt32? = nil,
        from source: DownloadSource? = nil, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void
    ) async throws(LoadError) -> DownloadResult {
        let source = source ?? DownloadSource(session: self)
        var request = request
        if !request.headerFields.contains(where: { $0.name == .acceptEncoding }) {
            request.headerFields[.acceptEncoding] = "identity"
        }
        let response = try await source.response(to: request)
        guard isKept(response.head) else {
            response.body.discard()
            return DownloadResult(response: response, isWhole: false)
        }
        let file = try DownloadFile.make(for: path)
        try await copy(response, to: file, progress: progress)
        try await file.commit(umask: umask)
        return DownloadResult(response: response, isWhole: true)
    }

    private func copy(
        _ response: LoadResponse, to file: borrowing DownloadFile, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void
    ) async throws(LoadError) {
        let total = response.head.headerFields[.contentLength].flatMap { Int64($0) }
        var completed: Int64 = 0
        progress(TransferProgress(completed: 0, total: total))
        while let chunk = try await response.body.next() {
            do throws(LoadError) {
                try file.write(chunk)
            } catch {
                response.body.discard()
                throw error
            }
            completed += Int64(chunk.count)
            progress(TransferProgress(completed: completed, total: total))
        }
    }
}
