internal import CCurl
internal import Glibc
internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// Where the body of a request comes from, and how it is framed. Made by the caller, since a file's length is read from
/// the disk.
struct UploadSource: Sendable {
    enum Content: Sendable {
        case none
        case bytes([UInt8])
        case produced(@Sendable (RequestBodyWriter) async throws -> Void)
    }

    let content: Content
    let isReplayable: Bool
    /// In bytes; -1 if it is not known.
    let length: Int64

    init(_ body: RequestBody?) throws(LoadError) {
        switch body?.source {
        case nil: (content, length) = (.none, 0)
        case .bytes(let bytes): (content, length) = (.bytes(bytes), Int64(bytes.count))
        case .stream(_, let produce): (content, length) = (.produced(produce), body?.length ?? -1)
        case .file(let path):
            length = try FileBody.length(path)
            content = .produced { writer in try await FileBody.send(path, to: writer) }
        }
        isReplayable = body?.isReplayable ?? true
    }

    var hasBody: Bool { if case .none = content { false } else { true } }
    /// There is a body, and it is known to have no bytes.
    var isEmpty: Bool { hasBody && length == 0 }
    /// All bytes are there, and can be sent any number of times.
    var isInMemory: Bool { if case .bytes = content { true } else { false } }
    /// Whether the length is not known before the end.
    var isChunked: Bool { length < 0 }

    /// Methods whose requests contain `Content-Length: 0` if they have no body (RFC 9110 §8.6).
    static func expectsBody(_ method: HTTPRequest.Method) -> Bool {
        method != .get && (method == .post || method == .put || method == .patch)
    }

    // MARK: libcurl

    /// Lines that prevent libcurl's own: it would wait for `100 Continue`, and declare every body a form.
    func extraLines(for request: ExchangeRequest) -> [StaticString] {
        guard hasBody || Self.expectsBody(request.method) else { return [] }
        let expectation: StaticString = request.asksToContinue ? "Expect: 100-continue" : "Expect:"
        return [expectation] + (request.headerFields[.contentType] == nil ? ["Content-Type:"] : [])
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
        handle.set(CURLOPT_EXPECT_100_TIMEOUT_MS, request.continueTimeout ?? .seconds(1))
    }
}

/// A file as a request's body.
private enum FileBody {
    static func length(_ path: String) throws(LoadError) -> Int64 {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw failure(path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LoadError(.fileSystem, at: .request, "The body is to be read from \(path), which is no regular file.")
        }
        return Int64(status.st_size)
    }

    static func send(_ path: String, to writer: RequestBodyWriter) async throws(LoadError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        while true {
            var result = 0
            let chunk = unsafe [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
                result = unsafe read(descriptor, buffer.baseAddress, buffer.count)
                count = max(0, result)
            }
            if result < 0 { throw failure(path) }
            if chunk.isEmpty { return }
            try await writer.write(chunk)
        }
    }

    /// Says why the last call failed, by `errno`.
    private static func failure(_ path: String) -> LoadError {
        LoadError(
            .fileSystem, at: .request,
            "The body cannot be read from \(path): \(unsafe String(cString: strerror(errno))).")
    }
}
