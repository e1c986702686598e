/// A value of a store, read in chunks; see ``SecureStore/chunks(of:in:)``.
public struct StoredChunks: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = StoreError

    enum Content: Sendable {
        case whole([UInt8])
        case pieces(StreamManifest)
    }

    let store: SecureStore
    /// The value's length in bytes.
    public let count: Int
    let content: Content

    public func makeAsyncIterator() -> Iterator { Iterator(store: store, content: content) }

    /// Reads the value from its beginning, one chunk at a time.
    public struct Iterator: AsyncIteratorProtocol {
        let store: SecureStore
        let content: Content
        private var number: UInt64 = 0
        private var bytes: UInt64 = 0

        init(store: SecureStore, content: Content) {
            self.store = store
            self.content = content
        }

        /// - Throws: ``StoreError/Code/replaced``, ``StoreError/Code/damaged``, ``StoreError/Code/closed``.
        public mutating func next() async throws(StoreError) -> [UInt8]? { try nextChunk() }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(StoreError) -> [UInt8]? {
            try nextChunk()
        }

        /// ``next()`` without suspension: the piece is read on the calling thread.
        package mutating func nextPiece() throws(StoreError) -> [UInt8]? { try nextChunk() }

        private mutating func nextChunk() throws(StoreError) -> [UInt8]? {
            defer { number += 1 }
            switch content {
            case .whole(let value): return number == 0 && !value.isEmpty ? value : nil
            case .pieces(let manifest):
                guard number < manifest.pieces else {
                    guard bytes == manifest.length else {
                        throw StoreError(.damaged, "A streamed value has another length.")
                    }
                    return nil
                }
                let piece = try piece(of: manifest)
                bytes += UInt64(piece.count)
                return piece
            }
        }

        private func piece(of manifest: StreamManifest) throws(StoreError) -> [UInt8] {
            let number = number
            let piece = try store.readRecord { transaction throws(StoreError) in
                try transaction.piece(number, of: manifest)
            }
            guard let piece else {
                throw StoreError(.replaced, "The value was replaced or removed while it was read.")
            }
            return piece
        }
    }
}

@available(*, unavailable)
extension StoredChunks.Iterator: Sendable {}
