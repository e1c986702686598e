internal import CCurl
internal import Glibc
internal import HTTPTypes
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// The body of a request while it is sent. On the loop only, once created.
final class Upload {
    private enum Source {
        case none
        case bytes([UInt8])
        case produced(@Sendable (RequestBodyWriter) async throws -> Void)
    }

    /// How far a producer may be ahead of the connection, in bytes.
    private static let watermarks = BodyPipe.Watermarks(low: 64 << 10, high: 256 << 10)

    private let source: Source
    private let isReplayable: Bool
    /// In bytes; -1 if it is not known.
    private let length: Int64
    private var offset = 0
    private var pipe: BodyPipe?
    /// Of the chunk that was taken from the pipe last.
    private var rest: ArraySlice<UInt8> = []
    private var producer: Task<Void, Never>?
    private(set) var isPaused = false
    /// The body's own failure, if it had one.
    private(set) var failure: LoadError?
    /// libcurl has all of it.
    private(set) var isSent = false

    init(_ body: RequestBody?) throws(LoadError) {
        switch body?.source {
        case nil: (source, length) = (.none, 0)
        case .bytes(let bytes): (source, length) = (.bytes(bytes), Int64(bytes.count))
        case .stream(_, let produce): (source, length) = (.produced(produce), body?.length ?? -1)
        case .file(let path):
            length = try FileBody.length(path)
            source = .produced { writer in try await FileBody.send(path, to: writer) }
        }
        isReplayable = body?.isReplayable ?? true
        if case .none = source { isSent = true }
    }

    /// The number of bytes that the connection has.
    var sentBytes: Int64 { Int64(offset) }
    var totalBytes: Int64? { length < 0 ? nil : length }
    /// Whether the length is not known before the end.
    var isChunked: Bool { length < 0 }

    /// Lines that prevent libcurl's own: it would wait for `100 Continue`, and declare every body a form.
    func extraLines(for request: ExchangeRequest) -> [StaticString] {
        guard hasBody || Self.expectsBody(request.method) else { return [] }
        let fields = request.headerFields
        let expectation: StaticString = request.asksToContinue ? "Expect: 100-continue" : "Expect:"
        return (fields[.expect] == nil ? [expectation] : []) + (fields[.contentType] == nil ? ["Content-Type:"] : [])
    }

    /// All bytes are there, and can be sent any number of times.
    var isInMemory: Bool { if case .bytes = source { true } else { false } }
    var hasBody: Bool { if case .none = source { false } else { true } }

    /// Methods whose requests contain `Content-Length: 0` if they have no body (RFC 9110 §8.6).
    static func expectsBody(_ method: HTTPRequest.Method) -> Bool {
        method == .post || method == .put || method == .patch
    }

    func configure(_ handle: EasyHandle, _ request: ExchangeRequest) {
        let method = request.method
        if !hasBody && method == .get && handle.isPlain { return }
        handle.isPlain = !hasBody && method == .get
        guard hasBody || Self.expectsBody(method) else {
            handle.set(method == .head ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1)
            if method != .head { handle.set(CURLOPT_CUSTOMREQUEST, method.rawValue) }
            return
        }
        handle.set(CURLOPT_POST, 1)
        handle.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: length)
        handle.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
        guard hasBody else { return handle.set(CURLOPT_COPYPOSTFIELDS, "") }
        let milliseconds = (request.continueTimeout ?? .seconds(1)).wholeNanoseconds / 1_000_000
        handle.set(CURLOPT_EXPECT_100_TIMEOUT_MS, Int(min(max(1, milliseconds), 1 << 30)))
    }

    // MARK: Bytes

    /// The result of a request for bytes of the body.
    enum Piece {
        /// They share the storage of the source.
        case bytes(ArraySlice<UInt8>)
        case end
        /// The source has none now; it wakes the exchange later.
        case paused
        /// ``failure`` is the reason.
        case failed
    }

    func next(atMost limit: Int, wake: @escaping @Sendable () -> Void) -> Piece {
        switch source {
        case .none: return .end
        case .bytes(let bytes):
            guard offset < bytes.count else { return .end }
            defer { isSent = offset == bytes.count }
            return .bytes(cut(bytes[offset...], limit))
        case .produced(let produce):
            if pipe == nil { start(produce, wake: wake) }
            return takeProduced(limit)
        }
    }

    private func cut(_ bytes: ArraySlice<UInt8>, _ limit: Int) -> ArraySlice<UInt8> {
        let piece = bytes.prefix(limit)
        offset += piece.count
        return piece
    }

    private func takeProduced(_ limit: Int) -> Piece {
        if rest.isEmpty {
            switch pipe?.take(upTo: .max) {
            case .bytes(let bytes): rest = bytes[...]
            case .empty:
                isPaused = true
                return .paused
            case .end, nil: return endOfProduced()
            case .failed(let failure):
                self.failure = LoadError(
                    .requestBodyFailed, at: .request, "The request's body failed.", underlying: failure.underlying)
                return .failed
            }
            guard length < 0 || offset + rest.count <= length else { return wrongLength() }
        }
        let piece = cut(rest, limit)
        // Also an empty slice holds the storage.
        rest = piece.count == rest.count ? [] : rest.dropFirst(piece.count)
        return .bytes(piece)
    }

    private func endOfProduced() -> Piece {
        guard length < 0 || offset == length else { return wrongLength() }
        isSent = true
        return .end
    }

    /// A body with another length than declared would end too early, or run into the next request.
    private func wrongLength() -> Piece {
        failure = LoadError(.requestBodyFailed, at: .request, "The body's length differs from the declared length.")
        return .failed
    }

    /// Whether the connection has all declared bytes, regardless of the source.
    var isComplete: Bool { isSent || length >= 0 && offset == length }

    /// Whether the body can be read from its start, considering what was read so far.
    var canStartAnew: Bool { isReplayable || pipe == nil }

    /// Starts again, for another connection.
    ///
    /// - Returns: whether the body can be sent from its start again.
    func rewind() -> Bool {
        guard canStartAnew else { return false }
        end()
        pipe = nil
        rest = []
        isPaused = false
        offset = 0
        isSent = !hasBody
        return true
    }

    func resumed() { isPaused = false }

    // MARK: Producer

    /// Runs the app's closure beside the exchange. The task is not a child of the caller's, since the body may still
    /// be sent when the head of the answer is back; it is cancelled when the exchange ends.
    private func start(
        _ produce: @escaping @Sendable (RequestBodyWriter) async throws -> Void, wake: @escaping @Sendable () -> Void
    ) {
        let pipe = BodyPipe(watermarks: Self.watermarks, hooks: .init(hasBytes: wake))
        self.pipe = pipe
        producer = Task { @concurrent in
            do {
                try await produce(RequestBodyWriter(pipe))
                pipe.finish()
            } catch {
                pipe.finish(LoadError(.requestBodyFailed, at: .request, "The body threw.", underlying: error))
            }
        }
    }

    func end() {
        pipe?.discard()
        producer?.cancel()
        producer = nil
    }
}

/// A file as a request's body.
private enum FileBody {
    static func length(_ path: String) throws(LoadError) -> Int64 {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw LoadError(.fileSystem, at: .request, "The body is to be read from \(path), which is no regular file.")
        }
        return Int64(status.st_size)
    }

    static func send(_ path: String, to writer: RequestBodyWriter) async throws(LoadError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw LoadError(
                .fileSystem, at: .request,
                "The body cannot be read from \(path): \(unsafe String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        while true {
            let chunk = unsafe [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
                unsafe count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
            }
            if chunk.isEmpty { return }
            try await writer.write(chunk)
        }
    }
}
