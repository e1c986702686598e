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
            guard let octets = (try? chunks.nextPiece()) ?? nil else { return try await recovered() }
            let skipped = min(skip, Int64(octets.count))
            skip -= skipped
            if skipped < octets.count { return cut(skipped > 0 ? Array(octets.dropFirst(Int(skipped))) : octets) }
        }
        return nil
    }

    private var isOver: Bool { isDiscarded.load(ordering: .sequentiallyConsistent) }

    private func cut(_ octets: [UInt8]) -> [UInt8] {
        let octets = Int64(octets.count) > left ? Array(octets.prefix(Int(left))) : octets
        left -= Int64(octets.count)
        given += Int64(octets.count)
        return octets
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
        guard let octets = try await rest.next() else {
            throw LoadError(.connectionLost, at: .response, "A stored body was lost while it was read.")
        }
        return cut(octets)
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
        while let octets = try await body.next() {
            let skipped = min(skip, Int64(octets.count))
            skip -= skipped
            if skipped < octets.count { return skipped == 0 ? octets : Array(octets[Int(skipped)...]) }
        }
        return nil
    }

    nonisolated func discard() { body.discard() }

    nonisolated var trailers: HTTPFields? { body.trailers }
}
