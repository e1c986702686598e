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
    /// A server may send less than the rest, and need not tell the length of the whole: it is asked for more until it
    /// has told it, or answers that there is no more (416). If it sends 100 parts of less than 64 KiB, the whole is
    /// loaded.
    ///
    /// - Parameters:
    ///   - request: a GET without a body and without `Range` or `If-Range` of its own.
    ///   - path: the target; the same as in the earlier call.
    ///   - isolation: the caller's actor, on which the closures run.
    ///   - progress: begins with the bytes that are already on the disk.
    ///   - isKept: whether the body of a response with this head becomes the file; by default that of a successful
    ///     (2xx) one.
    /// - Returns: the head of the last response with bytes of the file: 206 if only the rest was loaded. 416 if nothing
    ///   was missing.
    /// - Throws: `invalidRequest` for any other kind of request; `fileSystem` if another download writes the same
    ///   target, or if a hidden file is not a regular file of mode 0600, belongs to another user or has other names,
    ///   since another user may have planted it; and all that ``download(for:to:isolation:progress:keeping:)`` throws.
    @discardableResult
    public func resumeDownload(
        for request: LoadRequest, to path: String, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void = { _ in },
        keeping isKept: (HTTPResponse) -> Bool = { $0.status.kind == .successful }
    ) async throws(LoadError) -> HTTPResponse {
        try await resumedResult(for: request, to: path, keeping: isKept, progress: progress).response.head
    }

    /// Removes what downloads to a target left that did not come to their end.
    public static func removePartialDownload(to path: String) throws(LoadError) { try PartialFile.remove(for: path) }

    /// As ``resumeDownload(for:to:isolation:progress:keeping:)``, with the facts of the load, and what it did.
    ///
    /// - Parameters:
    ///   - umask: of the process for which this one loads, which decides the mode of a new file; nil for this one's own.
    ///   - source: what answers the requests; the session itself by default.
    package func resumedResult(
        for request: LoadRequest, to path: String, keeping isKept: (HTTPResponse) -> Bool, umask: UInt32? = nil,
        from source: DownloadSource? = nil, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void
    ) async throws(LoadError) -> DownloadResult {
        let fields = request.headerFields
        guard request.method == .get, request.body == nil, fields[.range] == nil, fields[.ifRange] == nil else {
            throw LoadError(
                .invalidRequest, "What is gone on with is a GET without a body and without a range of its own.")
        }
        let source = source ?? DownloadSource(session: self)
        var request = request
        request.headerFields[.acceptEncoding] = "identity"
        var file = try PartialFile.open(for: path)
        let rest = try await goOn(request, from: source, file: &file, keeping: isKept, progress: progress)
        let result: DownloadResult
        if let rest {
            result = rest
        } else {
            result = try await loadWhole(request, from: source, file: &file, keeping: isKept, progress: progress)
        }
        if result.isWhole { try await file.commit(umask: umask) } else { result.response.body.discard() }
        return result
    }

    private func loadWhole(
        _ request: LoadRequest, from source: DownloadSource, file: inout PartialFile,
        keeping isKept: (HTTPResponse) -> Bool, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void
    ) async throws(LoadError) -> DownloadResult {
        let response = try await source.response(to: request)
        guard isKept(response.head) else { return DownloadResult(response: response, isWhole: false) }
        try await copy(whole: response, to: request, file: &file, progress: progress)
        return DownloadResult(response: response, isWhole: true)
    }

    /// Asks for what is missing, again and again if a server sends less of it, until an answer proves that nothing is.
    ///
    /// - Returns: nil if the whole must be loaded anew.
    private func goOn(
        _ request: LoadRequest, from source: DownloadSource, file: inout PartialFile,
        keeping isKept: (HTTPResponse) -> Bool, isolation: isolated (any Actor)? = #isolation,
        progress: (TransferProgress) -> Void
    ) async throws(LoadError) -> DownloadResult? {
        var (last, smallParts): (LoadResponse?, Int) = (nil, 0)
        while smallParts < Resumption.maximumSmallParts {
            guard var record = file.record, record.isOf(request) else { return nil }
            let response = try await source.response(to: record.ask(request))
            switch record.take(response.head) {
            case .useless:
                await response.drain()
                return nil
            case .nothing:
                response.body.discard()
                progress(TransferProgress(completed: file.length, total: file.length))
                return DownloadResult(response: last ?? response, isWhole: true)
            case .whole where isKept(response.head):
                try await copy(whole: response, to: request, file: &file, progress: progress)
                return DownloadResult(response: response, isWhole: true)
            case .part(let end) where isKept(response.head):
                if end - file.length < Resumption.smallPart { smallParts += 1 }
                file.update(record)
                try await copy(response, to: &file, upTo: end, of: record.total, progress: progress)
                if record.total == end { return DownloadResult(response: response, isWhole: true) }
                try await file.keep()
                last = response
            case .whole, .part, .other: return DownloadResult(response: response, isWhole: false)
            }
        }
        return nil
    }

    private func copy(
        whole response: LoadResponse, to request: LoadRequest, file: inout PartialFile,
        isolation: isolated (any Actor)? = #isolation, progress: (TransferProgress) -> Void
    ) async throws(LoadError) {
        try file.restart(as: Resumption(of: request, answered: response.head))
        let length = response.head.headerFields[.contentLength].flatMap { Int64($0) }
        try await copy(response, to: &file, upTo: length, of: length, progress: progress)
    }

    /// Appends a body.
    ///
    /// - Parameters:
    ///   - end: the length that the file has then; nil if the answer does not say.
    ///   - total: the length of the whole, if it is known.
    private func copy(
        _ response: LoadResponse, to file: inout PartialFile, upTo end: Int64?, of total: Int64?,
        isolation: isolated (any Actor)? = #isolation, progress: (TransferProgress) -> Void
    ) async throws(LoadError) {
        do throws(LoadError) {
            progress(TransferProgress(completed: file.length, total: total))
            while let chunk = try await response.body.next() {
                // What is behind the end is of no range that the server has named: it must not be gone on with.
                guard Int64(chunk.count) <= (end ?? .max) - file.length else { throw Self.hasOtherLength }
                try file.write(chunk)
                progress(TransferProgress(completed: file.length, total: total))
                if file.isDue { try await file.keep() }
            }
            guard end == nil || file.length == end else { throw Self.hasOtherLength }
        } catch {
            response.body.discard()
            // The failure is what the app must know; what could not be kept begins anew.
            try? await file.keep()
            throw error
        }
    }

    private static var hasOtherLength: LoadError {
        LoadError(.protocolViolation, at: .response, "The rest has another length than was announced.")
    }
}
