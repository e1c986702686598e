/// A streamed value that is written by transactions of the caller's: for modules that hand work to the writer and do
/// not wait for it.
///
/// The changes that it gives must be made in their order. Until ``finish(_:for:in:)`` was committed there is no value,
/// and the next open removes what a crash left of it.
package struct DetachedStream: Sendable {
    /// How many bytes make a good part: some pieces.
    package static let goodPart = 4 * StreamManifest.pieceLength

    package typealias Change = @Sendable (WriteTransaction) throws -> Void

    private var manifest = StreamManifest.new()
    private var isBegun = false

    package init() {}

    /// In bytes.
    package var length: Int { Int(clamping: manifest.length) }

    /// The change that puts bytes behind those that there are.
    ///
    /// - Parameter octets: as many as pieces hold, but for the last ones.
    package mutating func append(_ octets: [UInt8]) -> Change {
        let (start, isFirst) = (manifest, !isBegun)
        manifest.length += UInt64(octets.count)
        manifest.pieces += UInt64((octets.count + StreamManifest.pieceLength - 1) / StreamManifest.pieceLength)
        isBegun = true
        return { transaction in
            if isFirst { try transaction.begin(start) }
            try transaction.put(octets, of: start)
        }
    }

    /// The change that makes what was appended the value of a key. Throws where a part of it was not kept.
    package func finish<Key: StoreKey>(_ key: Key, in collection: StoreCollection<Key, [UInt8]>) -> Change {
        let manifest = manifest
        return { transaction in
            let cipher = transaction.ring.pieceCipher
            for number in 0..<manifest.pieces {
                guard try transaction.record(at: cipher.identifier + manifest.key(of: number)) != nil else {
                    throw StoreError(.internalFailure, "A part of a streamed value was not kept.")
                }
            }
            try transaction.finish(manifest)
            let record = Record(key: key.storeOctets, value: manifest.octets, isStreamed: true)
            try transaction.put(record, in: collection)
        }
    }

    /// The change that removes what was appended; nil where nothing was.
    package func abandon() -> Change? {
        guard isBegun else { return nil }
        let id = manifest.id
        return { transaction in try transaction.abandon(id) }
    }
}
