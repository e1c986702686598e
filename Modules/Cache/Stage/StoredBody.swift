internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportSecureStore
internal import Synchronization

/// A stored body, read piece by piece: no snapshot of the store is held between two pieces.
actor StoredBody: BodySource {
    /// Provides the bytes after the first `given` ones if the store can no longer.
    typealias Recovery = @Sendable (_ given: Int64) async throws(LoadError) -> ResponseBody

    private let recover: Recovery
    private var chunks: StoredChunks.Iterator
    private var skip: Int64
    private var left: Int64
    private var given: Int64 = 0
    /// The server's bytes in place of those that were lost.
    private nonisolated let rest = SetOnce<ResponseBody>()
    private nonisolated let isDiscarded = Atomic(false)

    init(_ chunks: StoredChunks, skipping skip: Int64, count: Int64, recover: @escaping Recovery) {
        self.chunks = chunks.makeAsyncIterator()
        self.skip = skip
        left = count
        self.recover = recover
    }

    func next() async throws(LoadError) -> [UInt8]? {
        if let rest = rest.value { return try await take(from: rest) }
        while left > 0, !isOver {
            guard let bytes = (try? chunks.nextPiece()) ?? nil else { return try await recovered() }
            let skipped = min(skip, Int64(bytes.count))
            skip -= skipped
            if skipped < bytes.count { return cut(skipped > 0 ? Array(bytes.dropFirst(Int(skipped))) : bytes) }
        }
        return nil
    }

    private var isOver: Bool { isDiscarded.load(ordering: .sequentiallyConsistent) }

    private func cut(_ bytes: [UInt8]) -> [UInt8] {
        let bytes = Int64(bytes.count) > left ? Array(bytes.prefix(Int(left))) : bytes
        left -= Int64(bytes.count)
        given += Int64(bytes.count)
        return bytes
    }

    private func recovered() async throws(LoadError) -> [UInt8]? {
        let body = try await recover(given)
        rest.set(body)
        // If the body is discarded meanwhile, either this side sees the flag or the other side sees the body.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return try await take(from: body)
    }

    private func take(from rest: ResponseBody) async throws(LoadError) -> [UInt8]? {
        guard left > 0, !isOver else {
            rest.discard()
            return nil
        }
        guard let bytes = try await rest.next() else {
            throw LoadError(.connectionLost, at: .response, "A stored body was lost while it was read.")
        }
        return cut(bytes)
    }

    nonisolated func discard() {
        isDiscarded.store(true, ordering: .sequentiallyConsistent)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        rest.value?.discard()
    }
}

/// A body without its first bytes.
actor SkippingBody: BodySource {
    private nonisolated let body: ResponseBody
    private var skip: Int64

    init(_ body: ResponseBody, skipping skip: Int64) {
        self.body = body
        self.skip = skip
    }

    func next() async throws(LoadError) -> [UInt8]? {
        while let bytes = try await body.next() {
            let skipped = min(skip, Int64(bytes.count))
            skip -= skipped
            if skipped < bytes.count { return skipped == 0 ? bytes : Array(bytes[Int(skipped)...]) }
        }
        return nil
    }

    nonisolated func discard() { body.discard() }

    nonisolated var trailers: HTTPFields? { body.trailers }
}
