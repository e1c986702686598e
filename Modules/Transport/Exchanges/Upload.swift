internal import CCurl
internal import Glibc
internal import HTTPTypes
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// The body of a request on its way up. On the loop only, once made.
final class Upload {
    private enum Source {
        case none
        case bytes([UInt8])
        case produced(@Sendable (RequestBodyWriter) async throws -> Void)
    }

    /// How much a producer may be ahead of the connection, in bytes.
    private static let watermarks = BodyPipe.Watermarks(low: 64 << 10, high: 256 << 10)

    private let source: Source
    private let isReplayable: Bool
    /// In bytes; -1 where it is not known.
    private let length: Int64
    private var offset = 0
    private var pipe: BodyPipe?
    private var producer: Task<Void, Never>?
    private(set) var isPaused = false
    /// The body's own failure, where it had one.
    private(set) var failure: LoadError?
    /// All of it is with libcurl.
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

    /// What the connection has of it.
    var sentBytes: Int64 { Int64(offset) }
    var totalBytes: Int64? { length < 0 ? nil : length }
    /// Whether the length is not known before the end.
    var isChunked: Bool { length < 0 }

    /// Lines that keep libcurl from making its own: it would wait for `100 Continue`, and call every body a form.
    func extraLines(for request: ExchangeRequest) -> [StaticString] {
        guard hasBody || Self.expectsBody(request.method) else { return [] }
        let fields = request.headerFields
        let expectation: StaticString = request.asksToContinue ? "Expect: 100-continue" : "Expect:"
        return (fields[.expect] == nil ? [expectation] : []) + (fields[.contentType] == nil ? ["Content-Type:"] : [])
    }

    var hasBody: Bool { if case .none = source { false } else { true } }

    /// Methods whose requests say `Content-Length: 0` where they have no body (RFC 9110 §8.6).
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

    /// What became of a request for bytes of the body.
    enum Portion: Equatable {
        case bytes(Int)
        case end
        /// The source has none now; it wakes the exchange when it has.
        case paused
        /// ``failure`` says why.
        case failed
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer, wake: @escaping @Sendable () -> Void) -> Portion {
        switch source {
        case .none: return .end
        case .bytes(let bytes): return unsafe copy(bytes, to: buffer)
        case .produced(let produce):
            if pipe == nil { start(produce, wake: wake) }
            return unsafe take(into: buffer)
        }
    }

    private func copy(_ bytes: [UInt8], to buffer: UnsafeMutableRawBufferPointer) -> Portion {
        let count = min(buffer.count, bytes.count - offset)
        unsafe buffer.copyBytes(from: bytes[offset..<offset + count])
        offset += count
        if offset == bytes.count { isSent = true }
        return count > 0 ? .bytes(count) : .end
    }

    private func take(into buffer: UnsafeMutableRawBufferPointer) -> Portion {
        switch pipe?.take(upTo: buffer.count) {
        case .bytes(let bytes): return unsafe copyChunk(bytes, to: buffer)
        case .empty:
            isPaused = true
            return .paused
        case .end, nil: return endOfProduced()
        case .failed(let failure):
            self.failure = LoadError(
                .requestBodyFailed, at: .request, "The request's body failed.", underlying: failure.underlying)
            return .failed
        }
    }

    private func copyChunk(_ bytes: [UInt8], to buffer: UnsafeMutableRawBufferPointer) -> Portion {
        guard length < 0 || offset + bytes.count <= length else { return wrongLength() }
        unsafe buffer.copyBytes(from: bytes)
        offset += bytes.count
        return .bytes(bytes.count)
    }

    private func endOfProduced() -> Portion {
        guard length < 0 || offset == length else { return wrongLength() }
        isSent = true
        return .end
    }

    /// A body of another length than was said would end in the middle, or run into the next request.
    private func wrongLength() -> Portion {
        failure = LoadError(.requestBodyFailed, at: .request, "The body has another length than it was said to have.")
        return .failed
    }

    /// Whether all bytes that were announced are with the connection, whatever the source still does.
    var isComplete: Bool { isSent || length >= 0 && offset == length }

    /// Whether the body can be had from its start, as far as it was read by now.
    var canStartAnew: Bool { isReplayable || pipe == nil }

    /// Begins anew, for another connection.
    ///
    /// - Returns: whether the body can be sent from its start again.
    func rewind() -> Bool {
        guard canStartAnew else { return false }
        end()
        pipe = nil
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
            throw LoadError(.fileSystem, at: .request, "The body is not a regular file that can be read.")
        }
        return Int64(status.st_size)
    }

    static func send(_ path: String, to writer: RequestBodyWriter) async throws(LoadError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw LoadError(.fileSystem, at: .request, "The body's file cannot be opened.")
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
