public import FoundationEssentials

extension SecureStore {
    /// How many bytes of a streamed value are written in one transaction.
    private static let streamBatch = 16 * StreamManifest.pieceLength

    /// Sets a value that arrives in chunks and may be larger than memory.
    ///
    /// At most 2 MiB and one chunk are in memory at a time. The value is written as it arrives, with a sync for each
    /// MiB. The key keeps its old value until the new one is complete and durable. If the chunks end in an error or the
    /// task is cancelled, the old value stays and the written part is removed (after a crash, by the next opening).
    /// ``ReadTransaction`` returns a streamed value of up to ``maximumValueLength``; ``chunks(of:in:)`` reads it in
    /// chunks.
    ///
    /// - Returns: the value's length.
    /// - Throws: as ``write(isolation:_:)``, and the errors of `chunks`.
    @discardableResult
    public func write<Key: StoreKey, Chunks: AsyncSequence>(
        _ chunks: Chunks, for key: Key, in collection: StoreCollection<Key, [UInt8]>, expiresAt expiry: Date? = nil
    ) async throws -> Int where Chunks.Element == [UInt8] {
        try await write(chunks, for: key, in: collection, expiresAt: expiry, check: {})
    }

    /// As ``write(_:for:in:expiresAt:)``.
    ///
    /// - Parameter check: is called in the transaction that replaces the value, which may have waited for its turn. If
    ///   it throws, the old value stays.
    package func write<Key: StoreKey, Chunks: AsyncSequence>(
        _ chunks: Chunks, for key: Key, in collection: StoreCollection<Key, [UInt8]>, expiresAt expiry: Date?,
        check: @escaping @Sendable () throws -> Void
    ) async throws -> Int where Chunks.Element == [UInt8] {
        let key = try collection.bytes(of: key)
        let expiry = expiry.map(StoreTime.milliseconds)
        var stream = OutgoingStream(store: self)
        do {
            for try await chunk in chunks { try await stream.add(chunk, batch: Self.streamBatch) }
            try Task.checkCancellation()
            return try await stream.finish(key, in: collection, expiry: expiry, check: check)
        } catch {
            await stream.abandon()
            throw error
        }
    }

    /// A value in chunks, or nil if there is none or it has expired. A streamed value comes in pieces of about 64 KiB,
    /// each of which is read when it is requested; any other value comes as one chunk.
    ///
    /// No snapshot is held meanwhile: if the value is replaced or removed before its end, the sequence throws
    /// ``StoreError/Code/replaced``.
    ///
    /// - Throws: ``StoreError/Code/damaged``, ``StoreError/Code/closed``.
    public func chunks<Key: StoreKey>(
        of key: Key, in collection: StoreCollection<Key, [UInt8]>
    ) throws(StoreError) -> StoredChunks? {
        let bytes = key.storeBytes
        let place = collection.cipher.place(of: bytes)
        let record = try readRecord { transaction throws(StoreError) -> Record? in
            guard let sealed = try transaction.record(at: place) else { return nil }
            let record = try collection.opened(sealed, at: place)
            guard record.key == bytes else { throw collection.damaged() }
            return record.isExpired(at: transaction.now) ? nil : record
        }
        guard let record else { return nil }
        guard record.isStreamed else {
            return StoredChunks(store: self, count: record.value.count, content: .whole(record.value))
        }
        guard let manifest = StreamManifest(bytes: record.value) else { throw collection.damaged() }
        return StoredChunks(store: self, count: Int(clamping: manifest.length), content: .pieces(manifest))
    }

    /// ``read(_:)`` with a typed error.
    func readRecord<Result>(_ body: (ReadTransaction) throws(StoreError) -> Result) throws(StoreError) -> Result {
        do { return try read(body) } catch let error as StoreError { throw error } catch {
            throw StoreError(.internalFailure, "A read failed.", underlying: error)
        }
    }
}

/// A value that is being streamed into the store.
private struct OutgoingStream {
    let store: SecureStore
    private var manifest = StreamManifest.new()
    private var buffer: [UInt8] = []
    private var isBegun = false

    init(store: SecureStore) { self.store = store }

    mutating func add(_ chunk: [UInt8], batch: Int) async throws {
        var rest = chunk[...]
        while !rest.isEmpty {
            let part = rest.prefix(batch - buffer.count)
            buffer += part
            rest = rest.dropFirst(part.count)
            if buffer.count == batch { try await flush() }
        }
    }

    /// Writes the collected bytes, in pieces.
    private mutating func flush() async throws {
        let (bytes, start, isFirst) = (buffer, manifest, !isBegun)
        manifest.length += UInt64(bytes.count)
        manifest.pieces += UInt64((bytes.count + StreamManifest.pieceLength - 1) / StreamManifest.pieceLength)
        isBegun = true
        buffer.removeAll(keepingCapacity: true)
        try await store.write { transaction in
            if isFirst { try transaction.begin(start) }
            try transaction.put(bytes, of: start)
        }
    }

    mutating func finish<Key: StoreKey>(
        _ key: [UInt8], in collection: StoreCollection<Key, [UInt8]>, expiry: UInt64?,
        check: @escaping @Sendable () throws -> Void
    ) async throws -> Int {
        guard isBegun || buffer.count > StreamManifest.pieceLength else {
            let record = Record(key: key, value: buffer, expiry: expiry)
            try await store.write { transaction in
                try check()
                try transaction.put(record, in: collection)
            }
            return record.value.count
        }
        if !buffer.isEmpty { try await flush() }
        let manifest = manifest
        try await store.write { transaction in
            try check()
            try transaction.finish(manifest)
            let record = Record(key: key, value: manifest.bytes, expiry: expiry, isStreamed: true)
            try transaction.put(record, in: collection)
        }
        return Int(clamping: manifest.length)
    }

    /// Removes what was written. If that fails, the next opening does it.
    func abandon() async {
        guard isBegun else { return }
        let id = manifest.id
        try? await store.write { try $0.abandon(id) }
    }
}

extension WriteTransaction {
    /// Writes bytes as the next pieces of a stream.
    func put(_ bytes: [UInt8], of manifest: StreamManifest) throws(StoreError) {
        var number = manifest.pieces
        for start in stride(from: 0, to: bytes.count, by: StreamManifest.pieceLength) {
            let end = min(start + StreamManifest.pieceLength, bytes.count)
            try putPiece(Array(bytes[start..<end]), number: number, of: manifest)
            number += 1
        }
    }
}
