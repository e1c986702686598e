internal import SallyportCore
internal import SallyportLoading

/// The body of a request while it is sent. On the loop only.
final class Upload {
    /// How far a producer may be ahead of the connection, in bytes.
    private static let watermarks = BodyPipe.Watermarks(low: 64 << 10, high: 256 << 10)

    private let source: UploadSource
    private var offset = 0
    private var pipe: BodyPipe?
    /// Of the chunk that was taken from the pipe last.
    private var rest: ArraySlice<UInt8> = []
    private var producer: Task<Void, Never>?
    private(set) var isPaused = false
    /// The body's own failure, if it had one.
    private(set) var failure: LoadError?
    /// The connection has all of it.
    private(set) var isSent = false

    /// Nil if the request has no body.
    init?(_ source: UploadSource) {
        guard source.hasBody else { return nil }
        self.source = source
    }

    private var length: Int64 { source.length }
    /// The number of bytes that the connection has.
    var sentBytes: Int64 { Int64(offset) }
    var totalBytes: Int64? { length < 0 ? nil : length }

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
        switch source.content {
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
    var canStartAnew: Bool { source.isReplayable || pipe == nil }

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
        isSent = false
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
        producer = Task { @concurrent in await pipe.fill(by: produce) }
    }

    func end() {
        pipe?.discard()
        producer?.cancel()
        producer = nil
    }
}
