internal import Glibc
public import SallyportBase
public import SallyportCore
public import SallyportLoading

extension RequestBody {
    /// Reads the body, for a handler that sends it: hands it over in chunks of at most 64 KiB where it lies in memory or
    /// in a file, and as its producer writes them where it is streamed. The next chunk is read when `consume` has
    /// returned, which slows a producer down.
    ///
    /// A body that can be read once only (`isReplayable`) is read once, by the handler.
    ///
    /// - Parameters:
    ///   - isolation: the caller's actor, on which `consume` runs.
    ///   - consume: takes a chunk.
    /// - Throws: `requestBodyFailed` if the producer threw; `fileSystem`; `cancelled` with the task; what `consume`
    ///   throws, which ends the producer.
    public func read(
        isolation: isolated (any Actor)? = #isolation,
        _ consume: ([UInt8]) async throws(LoadError) -> Void
    ) async throws(LoadError) {
        switch source {
        case .bytes(let bytes): try await Self.hand(bytes, to: consume)
        case .file(let path): try await BodyFile.read(path, consume)
        case .stream(_, let produce): try await Self.read(from: produce, consume)
        }
    }

    /// Reads the whole body.
    ///
    /// - Parameter limit: one byte more ends with `requestBodyFailed`.
    /// - Throws: as ``read(isolation:_:)``.
    public func collect(upTo limit: ByteCount) async throws(LoadError) -> [UInt8] {
        var body: [UInt8] = []
        try await read { (chunk) throws(LoadError) in
            guard body.count + chunk.count <= limit.bytes else {
                throw LoadError(.requestBodyFailed, at: .request, "The request's body is longer than \(limit).")
            }
            body += chunk
        }
        return body
    }

    private static func hand(
        _ bytes: [UInt8], isolation: isolated (any Actor)? = #isolation,
        to consume: ([UInt8]) async throws(LoadError) -> Void
    ) async throws(LoadError) {
        for start in stride(from: 0, to: bytes.count, by: BodyFile.chunkSize) {
            if Task.isCancelled { throw .cancelled() }
            try await consume(Array(bytes[start..<min(start + BodyFile.chunkSize, bytes.count)]))
        }
    }

    private static func read(
        from produce: @escaping @Sendable (RequestBodyWriter) async throws -> Void,
        isolation: isolated (any Actor)? = #isolation,
        _ consume: ([UInt8]) async throws(LoadError) -> Void
    ) async throws(LoadError) {
        let pipe = BodyPipe()
        let result: Result<Void, LoadError> = await withTaskGroup(of: Void.self) { group in
            group.addTask { await pipe.fill(by: produce) }
            defer { group.cancelAll() }
            do throws(LoadError) {
                while let chunk = try await pipe.next() { try await consume(chunk) }
                return .success(())
            } catch {
                pipe.discard()
                return .failure(error)
            }
        }
        try result.get()
    }
}

/// A file that is a request's body, read off the threads that tasks run on.
private struct BodyFile: ~Copyable {
    static let chunkSize = 64 << 10

    private let descriptor: Int32

    deinit { Glibc.close(descriptor) }

    /// - Throws: `fileSystem` for what is no regular file that can be read.
    private init(_ path: String) throws(LoadError) {
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.failure("opened") }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Self.failure("used as a body: it is not a regular file")
        }
    }

    static func read(
        _ path: String, isolation: isolated (any Actor)? = #isolation,
        _ consume: ([UInt8]) async throws(LoadError) -> Void
    ) async throws(LoadError) {
        let file = try BodyFile(path)
        while true {
            if Task.isCancelled { throw .cancelled() }
            let descriptor = file.descriptor
            guard let chunk = await FileThread.run({ next(descriptor) }) else { throw failure("read") }
            guard !chunk.isEmpty else { return }
            try await consume(chunk)
        }
    }

    /// Empty at the end; nil if it cannot be read.
    private static func next(_ descriptor: Int32) -> [UInt8]? {
        var result = 0
        let chunk = unsafe [UInt8](unsafeUninitializedCapacity: chunkSize) { buffer, count in
            repeat {
                result = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            } while result < 0 && errno == EINTR
            count = max(0, result)
        }
        return result < 0 ? nil : chunk
    }

    private static func failure(_ what: String) -> LoadError {
        LoadError(.fileSystem, at: .request, "The body's file cannot be \(what).")
    }
}
