public import SallyportCore

/// The body of a request: the source of its bytes, and whether it can be read again.
///
/// A redirect that keeps the method, a retry and an authentication challenge send the body again; if the body can be
/// read only once, they end the load with `LoadError.Code.bodyNotReplayable`.
public struct RequestBody: Sendable {
    package enum Source: Sendable {
        case bytes([UInt8])
        case file(path: String)
        case stream(isReplayable: Bool, @Sendable (RequestBodyWriter) async throws -> Void)
    }

    package let source: Source
    /// In bytes; nil if it is not known in advance, so that HTTP/1.1 sends the body in chunks.
    public let length: Int64?

    private init(source: Source, length: Int64?) {
        self.source = source
        self.length = length
    }

    /// Bytes in memory.
    public static func bytes(_ bytes: [UInt8]) -> RequestBody {
        RequestBody(source: .bytes(bytes), length: Int64(bytes.count))
    }

    /// UTF-8 text in memory.
    public static func text(_ text: String) -> RequestBody { bytes(Array(text.utf8)) }

    /// A regular file, read while it is sent. Its length is taken when the request starts.
    public static func file(_ path: String) -> RequestBody { RequestBody(source: .file(path: path), length: nil) }

    /// Bytes that `produce` writes; it is called again if the body must be sent again.
    ///
    /// `produce` runs in a task that is cancelled when the load ends before the body does.
    public static func restartable(
        length: Int64? = nil, _ produce: @escaping @Sendable (RequestBodyWriter) async throws -> Void
    ) -> RequestBody {
        RequestBody(source: .stream(isReplayable: true, produce), length: length)
    }

    /// Bytes that `produce` writes and that cannot be produced again.
    public static func once(
        length: Int64? = nil, _ produce: @escaping @Sendable (RequestBodyWriter) async throws -> Void
    ) -> RequestBody {
        RequestBody(source: .stream(isReplayable: false, produce), length: length)
    }

    /// Whether the body can be sent a second time.
    public var isReplayable: Bool {
        if case .stream(let isReplayable, _) = source { isReplayable } else { true }
    }
}

/// Receives the bytes of a streamed request body.
public struct RequestBodyWriter: Sendable {
    private let pipe: BodyPipe
    package init(_ pipe: BodyPipe) { self.pipe = pipe }

    /// Writes bytes; returns when there is room for more.
    ///
    /// - Throws: the reason why the load ended; `LoadError.Code.cancelled` if the task was cancelled.
    public func write(_ bytes: [UInt8]) async throws(LoadError) { try await pipe.write(bytes) }
}

extension BodyPipe {
    /// Runs the producer of a request's body, and ends the pipe as the producer ends: with `requestBodyFailed` if it
    /// threw, with `cancelled` if it was cancelled. A producer is cancelled with the task that reads, which may see the
    /// pipe's end before its own cancellation.
    package func fill(by produce: @Sendable (RequestBodyWriter) async throws -> Void) async {
        do {
            try await produce(RequestBodyWriter(self))
            // Some producers return when they are cancelled, such as one that iterates over an `AsyncStream`: what they
            // have written is not the whole body.
            finish(Task.isCancelled ? .cancelled() : nil)
        } catch {
            let failure = LoadError(
                .requestBodyFailed, at: .request, "The producer of the request's body threw an error.",
                underlying: error)
            finish(Task.isCancelled ? .cancelled() : failure)
        }
    }
}
