/// A streamed value that the caller's transactions write: for modules that submit work to the writer and do not wait
/// for it.
///
/// The changes that it returns must be made in order. There is no value until ``finish(_:for:in:)`` is committed, and
/// the next opening removes what a crash left of it.
package struct DetachedStream: Sendable {
    /// A suitable number of bytes for one part: a few pieces.
    package static let goodPart = 4 * StreamManifest.pieceLength

    package typealias Change = @Sendable (WriteTransaction) throws -> Void

    private var manifest = StreamManifest.new()
    private var isBegun = false

    package init() {}

    /// The length so far, in bytes.
    package var length: Int { Int(clamping: manifest.length) }

    /// The change that appends bytes. It throws if the stream was abandoned, or an earlier part was not kept.
    ///
    /// - Parameter bytes: a multiple of the pieces' length, except at the end.
    package mutating func append(_ bytes: [UInt8]) -> Change {
        let (start, isFirst) = (manifest, !isBegun)
        manifest.length += UInt64(bytes.count)
        manifest.pieces += UInt64((bytes.count + StreamManifest.pieceLength - 1) / StreamManifest.pieceLength)
        isBegun = true
        return { transaction in
            if isFirst {
                try transaction.begin(start)
            } else if try !transaction.isPending(start) {
                // Nothing would remove the pieces.
                throw StoreError(.internalFailure, "A streamed value was abandoned before this part of it.")
            }
            try transaction.put(bytes, of: start)
        }
    }

    /// The change that makes the appended bytes the value of a key. It throws if a part of them was not kept.
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
            let record = Record(key: key.storeBytes, value: manifest.bytes, isStreamed: true)
            try transaction.put(record, in: collection)
        }
    }

    /// The change that removes the appended bytes; nil if there are none.
    package func abandon() -> Change? {
        guard isBegun else { return nil }
        let id = manifest.id
        return { transaction in try transaction.abandon(id) }
    }
}
