public import HTTPTypes
public import SallyportBase
public import SallyportCore
internal import Synchronization

/// The bytes of an answer's body, in chunks, read once.
///
/// Reading slowly slows the sender down. Ending the iteration early, by leaving the loop or by cancelling the task,
/// ends the transfer.
public struct ResponseBody: AsyncSequence, BodySource {
    public typealias Element = [UInt8]
    public typealias Failure = LoadError

    private let content: Content

    /// A body from a stage's own source.
    public init(_ source: any BodySource) { content = .source(Guardian(source)) }

    /// A body in memory.
    public init(_ bytes: [UInt8] = []) { content = .bytes(HeldBytes(bytes)) }

    public func makeAsyncIterator() -> Iterator { Iterator(content) }

    /// The next chunk; nil at the end. For stages that wrap a body; others iterate over the body.
    public func next() async throws(LoadError) -> [UInt8]? { try await content.next() }

    /// Ends the transfer without reading the rest. Has no effect on a body that was read to its end.
    public func discard() {
        switch content {
        case .bytes(let held): _ = held.take()
        case .source(let owner): owner.source.discard()
        }
    }

    /// The fields after the body (RFC 9110 §6.5) once it was read to its end; nil before, and if there are none.
    public var trailers: HTTPFields? {
        guard case .source(let owner) = content else { return nil }
        return owner.source.trailers
    }

    /// Reads the whole body.
    ///
    /// - Parameter limit: in bytes; a longer body ends the transfer.
    /// - Throws: `LoadError.Code.responseTooLarge` for one byte more than `limit`.
    public func collect(upTo limit: ByteCount) async throws(LoadError) -> [UInt8] {
        if let bytes = try held(upTo: limit) { return bytes }
        guard var bytes = try await next() else { return [] }
        try check(bytes.count, limit)
        while let chunk = try await next() {
            try check(bytes.count + chunk.count, limit)
            bytes += chunk
        }
        return bytes
    }

    /// The rest of a body in memory, without awaiting it; nil for a body that comes from a source.
    ///
    /// - Throws: as ``collect(upTo:)``.
    package func held(upTo limit: ByteCount) throws(LoadError) -> [UInt8]? {
        guard case .bytes(let held) = content else { return nil }
        guard let bytes = held.take() else { return [] }
        try check(bytes.count, limit)
        return bytes
    }

    private func check(_ count: Int, _ limit: ByteCount) throws(LoadError) {
        guard count > limit.bytes else { return }
        discard()
        throw LoadError(.responseTooLarge, at: .response, "The body is longer than \(limit).")
    }

    /// Iterates over the body's chunks. Iterators of one body share its bytes, and releasing one of them ends a
    /// transfer that is not complete.
    public struct Iterator: AsyncIteratorProtocol {
        /// Keeps the body alive while it is iterated, even without another reference to it.
        private let content: Content
        /// Nil for a body in memory, which has no connection.
        private let guardian: Guardian?

        fileprivate init(_ content: Content) {
            self.content = content
            guardian = if case .source(let owner) = content { Guardian(owner.source) } else { nil }
        }

        public mutating func next() async throws(LoadError) -> [UInt8]? { try await content.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(LoadError) -> [UInt8]? {
            try await content.next()
        }
    }

    fileprivate enum Content: Sendable {
        case bytes(HeldBytes)
        case source(Guardian)

        func next() async throws(LoadError) -> [UInt8]? {
            switch self {
            case .bytes(let held): held.take()
            case .source(let owner): try await owner.source.next()
            }
        }
    }

    /// Ends the transfer when the body can no longer be read, so that neither a body that was never read nor a loop
    /// that was left early keeps a connection.
    fileprivate final class Guardian: Sendable {
        let source: any BodySource

        init(_ source: any BodySource) { self.source = source }

        deinit { source.discard() }
    }

    /// A body in memory, which is handed out once.
    fileprivate final class HeldBytes: Sendable {
        private let bytes: [UInt8]
        private let isTaken: Atomic<Bool>

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            isTaken = Atomic(bytes.isEmpty)
        }

        /// Nil if there are none, or no more.
        func take() -> [UInt8]? { isTaken.exchange(true, ordering: .relaxed) ? nil : bytes }
    }
}

@available(*, unavailable)
extension ResponseBody.Iterator: Sendable {}

/// The source of a response body's chunks; implemented by stages that change a body.
public protocol BodySource: Sendable {
    /// The next chunk, never empty; nil at the end. Called by one consumer at a time.
    func next() async throws(LoadError) -> [UInt8]?
    /// The consumer needs no more bytes: stop the transfer. May be called from any thread, more than once, and after
    /// the end.
    func discard()
    /// The fields after the body; nil before its end, and if there are none.
    var trailers: HTTPFields? { get }
}

extension BodySource {
    /// Nil: a source without trailers.
    public var trailers: HTTPFields? { nil }
}
