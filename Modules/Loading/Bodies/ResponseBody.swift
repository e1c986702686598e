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

    private let owner: Guardian

    /// A body from a stage's own source.
    public init(_ source: any BodySource) { owner = Guardian(source) }

    /// A body in memory.
    public init(_ bytes: [UInt8] = []) { owner = Guardian(BytesSource(bytes), isInMemory: true) }

    public func makeAsyncIterator() -> Iterator { Iterator(owner) }

    /// The next chunk; nil at the end. For stages that wrap a body; others iterate over the body.
    public func next() async throws(LoadError) -> [UInt8]? { try await owner.source.next() }

    /// Ends the transfer without reading the rest. Has no effect on a body that was read to its end.
    public func discard() { owner.source.discard() }

    /// The fields after the body (RFC 9110 §6.5) once it was read to its end; nil before, and if there are none.
    public var trailers: HTTPFields? { owner.source.trailers }

    /// Reads the whole body.
    ///
    /// - Parameter limit: in bytes; a longer body ends the transfer.
    /// - Throws: ``LoadError/Code/responseTooLarge`` for one byte more than `limit`.
    public func collect(upTo limit: ByteCount) async throws(LoadError) -> [UInt8] {
        guard var bytes = try await next() else { return [] }
        try check(bytes.count, limit)
        while let chunk = try await next() {
            try check(bytes.count + chunk.count, limit)
            bytes += chunk
        }
        return bytes
    }

    private func check(_ count: Int, _ limit: ByteCount) throws(LoadError) {
        guard count > limit.bytes else { return }
        discard()
        throw LoadError(.responseTooLarge, at: .response, "The body is longer than \(limit).")
    }

    public struct Iterator: AsyncIteratorProtocol {
        /// Keeps the body alive while it is iterated, even without another reference to it.
        private let owner: Guardian
        /// Nil for a body in memory, which has no connection.
        private let guardian: Guardian?

        fileprivate init(_ owner: Guardian) {
            self.owner = owner
            guardian = owner.isInMemory ? nil : Guardian(owner.source)
        }

        public mutating func next() async throws(LoadError) -> [UInt8]? { try await owner.source.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(LoadError) -> [UInt8]? {
            try await owner.source.next()
        }
    }

    /// Ends the transfer when the body can no longer be read, so that neither a body that was never read nor a loop
    /// that was left early keeps a connection.
    fileprivate final class Guardian: Sendable {
        let source: any BodySource
        let isInMemory: Bool

        init(_ source: any BodySource, isInMemory: Bool = false) {
            self.source = source
            self.isInMemory = isInMemory
        }

        deinit { source.discard() }
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
    public var trailers: HTTPFields? { nil }
}

private final class BytesSource: BodySource {
    private let bytes: [UInt8]
    private let isTaken: Atomic<Bool>

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        isTaken = Atomic(bytes.isEmpty)
    }

    func next() async throws(LoadError) -> [UInt8]? {
        isTaken.exchange(true, ordering: .relaxed) ? nil : bytes
    }

    func discard() { isTaken.store(true, ordering: .relaxed) }
}
