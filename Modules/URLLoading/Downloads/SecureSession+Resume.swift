public import HTTPTypes
public import SallyportCore
public import SallyportLoading

extension SecureSession {
    /// As ``download(for:to:isolation:progress:keeping:)``, and continues an earlier call for the same request and
    /// target that was ended by a failure, by cancellation or by the end of the process.
    ///
    /// The received bytes are kept in hidden files beside the target (`.NAME.partial`, `.NAME.resume`; a name of more
    /// than 200 bytes is cut in theirs), with the response's strong validator; the rest is requested with `Range` and
    /// `If-Range` (RFC 9110 §14.2, §13.1.5). If the content has changed, or the server answers with another range than
    /// the requested one, or with a length that is not its range's, the whole is loaded. If the server sends no strong
    /// validator, the download begins anew. A crash loses at most the last 32 MiB.
    ///
    /// - Parameters:
    ///   - request: a GET without a body and without `Range` or `If-Range` of its own.
    ///   - path: the target; the same as in the earlier call.
    ///   - isolation: the caller's actor, on which the closures run.
    ///   - progress: begins with the bytes that are already on the disk.
    ///   - isKept: whether the body of a response with this head becomes the file; by default that of a successful
    ///     (2xx) one.
    /// - Returns: the head of the last response: 206 if only the rest was loaded.
    /// - Throws: `invalidRequest` for any other kind of request; `fileSystem` if another download writes the same
    ///   target, or if a hidden file is not a regular file of mode 0600, belongs to another user or has other names,
    ///   since another user may have planted it; and all that ``download(for:to:isolation:progress:keeping:)`` throws.
    @discardableResult
    public func resumeDownload(
        for request: LoadRequest, to path: String, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void = { _ in },
        keeping isKept: (HTTPResponse) -> Bool = { $0.status.kind == .successful }
    ) async throws(LoadError) -> HTTPResponse {
        try await resumedResponse(for: request, to: path, keeping: isKept, progress: progress).head
    }

    /// Removes what downloads to a target left that did not come to their end.
    public static func removePartialDownload(to path: String) throws(LoadError) { try PartialFile.remove(for: path) }

    /// As ``resumeDownload(for:to:isolation:progress:keeping:)``, with the facts of the load; the body was read or
    /// discarded.
    package func resumedResponse(
        for request: LoadRequest, to path: String, keeping isKept: (HTTPResponse) -> Bool,
        isolation: isolated (any Actor)? = #isolation, progress: (TransferProgress) -> Void
    ) async throws(LoadError) -> LoadResponse {
        try await resumedResponse(
            for: request, to: path, keeping: isKept, from: DownloadSource(session: self), progress: progress)
    }

    func resumedResponse(
        for request: LoadRequest, to path: String, keeping isKept: (HTTPResponse) -> Bool, from source: DownloadSource,
        isolation: isolated (any Actor)? = #isolation, progress: (TransferProgress) -> Void
    ) async throws(LoadError) -> LoadResponse {
        let fields = request.headerFields
        guard request.method == .get, request.body == nil, fields[.range] == nil, fields[.ifRange] == nil else {
            throw LoadError(
                .invalidRequest, "What is gone on with is a GET without a body and without a range of its own.")
        }
        var request = request
        request.headerFields[.acceptEncoding] = "identity"
        var file = try PartialFile.open(for: path)
        if let record = file.record, record.isOf(request) {
            let response = try await source.response(to: record.ask(request))
            switch try await goOn(request, with: response, file: &file, keeping: isKept, progress: progress) {
            case .whole:
                try await file.commit()
                return response
            case .notKept:
                response.body.discard()
                return response
            case .useless: await response.drain()
            }
        }
        let response = try await source.response(to: request)
        guard isKept(response.head) else {
            response.body.discard()
            return response
        }
        try file.restart(as: Resumption(of: request, answered: response.head))
        try await copy(response, to: &file, progress: progress)
        try await file.commit()
        return response
    }

    private enum Outcome { case whole, notKept, useless }

    private func goOn(
        _ request: LoadRequest, with response: LoadResponse, file: inout PartialFile,
        keeping isKept: (HTTPResponse) -> Bool, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void
    ) async throws(LoadError) -> Outcome {
        guard var record = file.record else { return .useless }
        switch record.take(response.head) {
        case .useless: return .useless
        case .other: return .notKept
        case .nothing:
            response.body.discard()
            progress(TransferProgress(completed: file.length, total: file.length))
            return .whole
        case .rest:
            guard isKept(response.head) else { return .notKept }
            file.update(record)
        case .whole:
            guard isKept(response.head) else { return .notKept }
            try file.restart(as: Resumption(of: request, answered: response.head))
        }
        try await copy(response, to: &file, progress: progress)
        return .whole
    }

    private func copy(
        _ response: LoadResponse, to file: inout PartialFile, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void
    ) async throws(LoadError) {
        do throws(LoadError) {
            let length = response.head.headerFields[.contentLength].flatMap { Int64($0) }
            // A rest is as long as its range, which begins where the file ends: the sum is its end, and fits.
            let total = file.record?.total ?? length.map { $0 + file.length }
            progress(TransferProgress(completed: file.length, total: total))
            while let chunk = try await response.body.next() {
                try file.write(chunk)
                progress(TransferProgress(completed: file.length, total: total))
                if file.isDue { try await file.keep() }
            }
            guard total == nil || file.length == total else {
                throw LoadError(.protocolViolation, at: .response, "The rest has another length than was announced.")
            }
        } catch {
            response.body.discard()
            // The failure is what the app must know; what could not be kept begins anew.
            try? await file.keep()
            throw error
        }
    }
}
