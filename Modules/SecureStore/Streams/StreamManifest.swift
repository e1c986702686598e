internal import SallyportBase

/// The content of the record of a streamed value: where its pieces are.
///
/// id(16) | length(8) | pieces(8). A piece is stored at identifier(16) | id(16) | number(8), in the collection of
/// pieces.
struct StreamManifest: Sendable {
    /// A piece and its record's overhead fill 16 pages of the tree.
    static let pieceLength = (64 << 10) - 16 - RecordCipher.overhead - 24
    static let name = Array("internal\0pieces".utf8)
    static let pendingName = Array("internal\0pending".utf8)
    static let idLength = 16

    let id: [UInt8]
    var length: UInt64
    var pieces: UInt64

    static func new() -> StreamManifest { StreamManifest(id: SystemRandom.bytes(idLength), length: 0, pieces: 0) }

    private init(id: [UInt8], length: UInt64, pieces: UInt64) {
        self.id = id
        self.length = length
        self.pieces = pieces
    }

    init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        id = Array(bytes[0..<16])
        length = UInt64(bigEndianBytes: bytes[16..<24])
        pieces = UInt64(bigEndianBytes: bytes[24..<32])
    }

    var bytes: [UInt8] { id + length.bigEndianBytes + pieces.bigEndianBytes }

    func key(of number: UInt64) -> [UInt8] { id + number.bigEndianBytes }
}

extension KeyRing {
    var pieceCipher: RecordCipher { cipher(ofCollection: StreamManifest.name) }
    /// The list of streams that were begun and not finished.
    var pendingCipher: RecordCipher { cipher(ofCollection: StreamManifest.pendingName) }
}

extension RecordSource {
    /// One piece, or nil if the value was replaced meanwhile.
    func piece(_ number: UInt64, of manifest: StreamManifest) throws(StoreError) -> [UInt8]? {
        let cipher = ring.pieceCipher
        let key = manifest.key(of: number)
        let place = cipher.identifier + key
        guard let record = try recordReadOnce(at: place) else { return nil }
        let opened = try cipher.open(record, at: place)
        guard opened.key == key else { throw StoreError(.damaged, "A piece of a streamed value does not verify.") }
        return opened.value
    }

    /// The whole value.
    func pieces(of manifest: StreamManifest) throws(StoreError) -> [UInt8] {
        guard manifest.length <= UInt64(SecureStore.maximumValueLength) else {
            throw StoreError(.tooLarge, "A streamed value of \(manifest.length) bytes is read in chunks only.")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(manifest.length))
        for number in 0..<manifest.pieces {
            guard let piece = try piece(number, of: manifest) else {
                throw StoreError(.damaged, "A piece of a streamed value is missing.")
            }
            bytes += piece
        }
        guard bytes.count == Int(manifest.length) else {
            throw StoreError(.damaged, "A streamed value has another length.")
        }
        return bytes
    }
}

extension WriteTransaction {
    func putPiece(_ piece: [UInt8], number: UInt64, of manifest: StreamManifest) throws(StoreError) {
        let cipher = ring.pieceCipher
        let key = manifest.key(of: number)
        let place = cipher.identifier + key
        let record = try cipher.seal(Record(key: key, value: piece), at: place)
        try replace(record, at: place, in: cipher, named: StreamManifest.name)
    }

    func removePieces(of manifest: StreamManifest) throws(StoreError) {
        let cipher = ring.pieceCipher
        for number in 0..<manifest.pieces {
            try replace(nil, at: cipher.identifier + manifest.key(of: number), in: cipher)
        }
    }

    /// Records that a stream has begun, so that its pieces are removed if it never ends.
    func begin(_ manifest: StreamManifest) throws(StoreError) {
        let cipher = ring.pendingCipher
        let place = cipher.place(of: manifest.id)
        let record = try cipher.seal(Record(key: manifest.id, value: []), at: place)
        try replace(record, at: place, in: cipher, named: StreamManifest.pendingName)
    }

    /// Whether the stream has begun and is neither finished nor abandoned.
    func isPending(_ manifest: StreamManifest) throws(StoreError) -> Bool {
        try record(at: ring.pendingCipher.place(of: manifest.id)) != nil
    }

    func finish(_ manifest: StreamManifest) throws(StoreError) {
        let cipher = ring.pendingCipher
        try replace(nil, at: cipher.place(of: manifest.id), in: cipher)
    }

    /// Removes all pieces of an unfinished stream.
    func abandon(_ id: [UInt8]) throws(StoreError) {
        let (pieces, pending) = (ring.pieceCipher, ring.pendingCipher)
        for place in try places(of: pieces.identifier + id) { try replace(nil, at: place, in: pieces) }
        try replace(nil, at: pending.place(of: id), in: pending)
    }

    /// Removes the pieces of streams that a crash interrupted.
    func abandonPendingStreams() throws(StoreError) {
        let cipher = ring.pendingCipher
        var damaged: Set<[UInt8]> = []
        for (place, record) in try records(of: cipher.identifier) {
            if let id = try pendingStream(record, at: place) { try abandon(id) } else { damaged.insert(place) }
        }
        for id in try streams(pendingAt: damaged) { try abandon(id) }
        // A record whose place was damaged too leads to no stream, and is removed alone.
        for place in damaged { try replace(nil, at: place, in: cipher) }
        try mendSummary(ofEmpty: cipher, named: StreamManifest.pendingName)
    }

    /// The stream that a record in the list of unfinished ones names; nil if it does not verify.
    private func pendingStream(_ record: [UInt8], at place: [UInt8]) throws(StoreError) -> [UInt8]? {
        do throws(StoreError) { return try ring.pendingCipher.open(record, at: place).key } catch {
            guard error.code == .damaged else { throw error }
            return nil
        }
    }

    /// The streams with stored pieces whose records in the list of unfinished ones lie at the given places: a damaged
    /// record no longer names its stream, but its place depends on it.
    private func streams(pendingAt places: Set<[UInt8]>) throws(StoreError) -> Set<[UInt8]> {
        guard !places.isEmpty else { return [] }
        let (pieces, pending) = (ring.pieceCipher.identifier, ring.pendingCipher)
        var ids: Set<[UInt8]> = []
        try unsafe tree.scan(from: pieces) { place, _ throws(StoreError) in
            guard unsafe place.starts(with: pieces) else { return false }
            unsafe ids.insert(Array(place.dropFirst(pieces.count).prefix(StreamManifest.idLength)))
            return true
        }
        return ids.filter { places.contains(pending.place(of: $0)) }
    }
}
