internal import Glibc
internal import SallyportBase

/// The decrypted content of a record.
struct Record: Sendable {
    var key: [UInt8]
    var value: [UInt8]
    /// When the record expires, in milliseconds since 1970.
    var expiry: UInt64?
    /// The value is stored elsewhere, in pieces; `value` says where.
    var isStreamed = false
    /// The key's position in its collection's index; nil in a collection without one.
    var label: OrderLabel?

    func isExpired(at now: UInt64) -> Bool { expiry.map { $0 <= now } ?? false }

    /// What follows the key's length.
    var trailer: [UInt8] { (expiry.map(\.bigEndianBytes) ?? []) + (label.map(\.bytes) ?? []) }
}

/// Encrypts the records of one collection, and hides their keys.
///
/// XAES-256-GCM (https://c2sp.org/XAES-256-GCM): 192 random bits of nonce for each record, from the kernel and from
/// nothing that a backup could put back, so that one repeats with probability 2⁻³² after 2⁸⁰ records. A record is bound
/// to its collection and key by the associated data, so that one copied over another is refused.
///
/// Record: version and flags(1) | data key's id(4) | nonce(24) | ciphertext | tag(16); the first five bytes and the
/// place are authenticated. Plaintext: value | key | key length(2) | expiry(8) | label(16), the last two where their
/// flags are set.
final class RecordCipher: Sendable {
    /// The bytes of a record in addition to key, value, expiry and label.
    static let overhead = headLength + AEADKey.nonceLength + 2 + AEADKey.tagLength
    static let identifierLength = 16
    /// The length of most places; a summary's has only the identifier, some internal ones are longer.
    static let placeLength = 32
    /// The length of the longest record, which has the longest key and the largest value.
    static let maximumLength =
        overhead + SecureStore.maximumValueLength + SecureStore.maximumKeyLength + 8 + OrderLabel.length
    /// The longest place of a record: the place is authenticated together with the record's head, in 64 bytes.
    static let maximumPlaceLength = 64 - headLength
    private static let headLength = 5
    private static let bodyStart = headLength + AEADKey.nonceLength
    private static let version: UInt8 = 0x20
    private static let expires: UInt8 = 1
    private static let streamed: UInt8 = 2
    private static let ordered: UInt8 = 4
    private static let flags: UInt8 = expires | streamed | ordered

    /// The first 16 bytes of the places of the collection's records; they reveal nothing about its name.
    let identifier: [UInt8]
    /// The key for the digests of records in the collection's sum.
    let sumKey: MACKey
    private let indexKey: MACKey
    private let recordKeys: RecordKeys

    /// - Parameter identifier: derived from a name (``KeyRing/identifier(ofCollection:)``), or found in the tree.
    init(ring: KeyRing, identifier: [UInt8]) {
        self.identifier = identifier
        indexKey = ring.indexKey.macKey(for: Array("sallyport store index ".utf8) + identifier)
        sumKey = ring.indexKey.macKey(for: Array("sallyport store sum ".utf8) + identifier)
        recordKeys = RecordKeys(ring: ring, identifier: identifier)
    }

    // MARK: Places

    /// Where a record is in the tree: the collection's identifier and 16 bytes that depend on the key.
    func place(of key: [UInt8]) -> [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: 48) { out, count in
            unsafe fillPlace(of: key, UnsafeMutableRawPointer(out.baseAddress.unsafelyUnwrapped))
            count = Self.placeLength
        }
    }

    /// As ``place(of:)``, without allocating memory.
    @inline(__always)
    func withPlace(of key: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) {
        var bytes: InlineArray<48, UInt8> = InlineArray(repeating: 0)
        unsafe withUnsafeMutableBytes(of: &bytes) { out in
            unsafe fillPlace(of: key, out.baseAddress.unsafelyUnwrapped)
            unsafe body(UnsafeRawBufferPointer(rebasing: out[0..<Self.placeLength]))
        }
    }

    /// Uses 48 bytes: the second half of the code is written but not used.
    private func fillPlace(of key: [UInt8], _ out: UnsafeMutableRawPointer) {
        unsafe identifier.withUnsafeBytes {
            unsafe out.copyMemory(from: $0.baseAddress.unsafelyUnwrapped, byteCount: Self.identifierLength)
        }
        unsafe key.withUnsafeBytes { unsafe indexKey.authenticate($0, into: out + Self.identifierLength) }
    }

    // MARK: Sealing

    func seal(key: [UInt8], value: [UInt8], at place: [UInt8]) throws(StoreError) -> [UInt8] {
        try seal(Record(key: key, value: value), at: place)
    }

    func seal(_ record: Record, at place: [UInt8]) throws(StoreError) -> [UInt8] {
        let (id, recordKey) = recordKeys.current()
        let plainLength = record.value.count + record.key.count + 2 + record.trailer.count
        var isSealed = false
        let bytes = unsafe [UInt8](
            unsafeUninitializedCapacity: Self.bodyStart + plainLength + AEADKey.tagLength
        ) { out, count in
            let out = UnsafeMutableRawBufferPointer(out)
            unsafe Self.fill(out, with: record, id)
            isSealed = unsafe Self.withAssociated(UnsafeRawBufferPointer(out), place) { associated in
                unsafe recordKey.seal(
                    UnsafeMutableRawBufferPointer(rebasing: out[Self.bodyStart..<(Self.bodyStart + plainLength + 16)]),
                    nonce: UnsafeRawBufferPointer(
                        rebasing: UnsafeRawBufferPointer(out)[Self.headLength..<Self.bodyStart]),
                    authenticating: associated)
            }
            count = Self.bodyStart + plainLength + AEADKey.tagLength
        }
        guard isSealed else { throw StoreError(.internalFailure, "A record could not be encrypted.") }
        return bytes
    }

    /// Writes head, nonce and plaintext.
    private static func fill(_ out: UnsafeMutableRawBufferPointer, with record: Record, _ id: UInt32) {
        unsafe out[0] =
            version | (record.expiry == nil ? 0 : expires) | (record.isStreamed ? streamed : 0)
            | (record.label == nil ? 0 : ordered)
        unsafe out.storeBytes(of: id.bigEndian, toByteOffset: 1, as: UInt32.self)
        unsafe SystemRandom.fill(out.baseAddress.unsafelyUnwrapped + headLength, AEADKey.nonceLength)
        var offset = bodyStart
        for part in [record.value, record.key] {
            unsafe UnsafeMutableRawBufferPointer(rebasing: out[offset...]).copyBytes(from: part)
            offset += part.count
        }
        unsafe out.storeBytes(of: UInt16(record.key.count).bigEndian, toByteOffset: offset, as: UInt16.self)
        unsafe UnsafeMutableRawBufferPointer(rebasing: out[(offset + 2)...]).copyBytes(from: record.trailer)
    }

    // MARK: Opening

    /// - Throws: ``StoreError/Code/damaged`` for anything but what ``seal(_:at:)`` made for this place; if the record's
    ///   data key is missing since the file of the keys could not be read, the error of that reading.
    func open(_ record: [UInt8], at place: [UInt8]) throws(StoreError) -> Record {
        var bytes = try plaintext(record, at: place)[...]
        let label = try record[0] & Self.ordered == 0 ? nil : OrderLabel(bytes: Self.cut(OrderLabel.length, &bytes))
        let expiry = try record[0] & Self.expires == 0 ? nil : UInt64(bigEndianBytes: Self.cut(8, &bytes))
        let keyLength = Int(UInt16(bigEndianBytes: try Self.cut(2, &bytes)))
        let key = try Self.cut(keyLength, &bytes)
        return Record(
            key: Array(key), value: Array(bytes), expiry: expiry, isStreamed: record[0] & Self.streamed != 0,
            label: label)
    }

    /// Takes bytes from the end.
    private static func cut(_ count: Int, _ bytes: inout ArraySlice<UInt8>) throws(StoreError) -> ArraySlice<UInt8> {
        guard bytes.count >= count else { throw damaged() }
        defer { bytes.removeLast(count) }
        return bytes.suffix(count)
    }

    private func plaintext(_ record: [UInt8], at place: [UInt8]) throws(StoreError) -> [UInt8] {
        let bytes = unsafe record.withUnsafeBytes { record in
            unsafe place.withUnsafeBytes { unsafe plaintext(record, at: $0) }
        }
        if let bytes { return bytes }
        let failure = unsafe record.withUnsafeBytes { unsafe keyFailure(of: $0) }
        throw failure ?? Self.damaged()
    }

    /// Why the data key of a record that was refused is missing, if the file of the keys could not be read; nil if the
    /// record itself is not what was written.
    func keyFailure(of record: UnsafeRawBufferPointer) -> StoreError? {
        let id = unsafe Self.dataKeyID(of: record)
        return id == 0 ? nil : recordKeys.failure(id: id)
    }

    /// Decrypts a record; nil if it fails verification.
    private func plaintext(_ record: UnsafeRawBufferPointer, at place: UnsafeRawBufferPointer) -> [UInt8]? {
        guard record.count >= Self.overhead, unsafe record[0] & ~Self.flags == Self.version,
            let recordKey = unsafe recordKeys.key(id: Self.id(of: record))
        else { return nil }
        let count = record.count - Self.bodyStart - AEADKey.tagLength
        var isGood = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { out, filled in
            isGood = unsafe Self.withAssociated(record, place) { associated in
                unsafe recordKey.open(
                    UnsafeRawBufferPointer(rebasing: record[Self.bodyStart...]),
                    nonce: UnsafeRawBufferPointer(rebasing: record[Self.headLength..<Self.bodyStart]),
                    authenticating: associated,
                    into: UnsafeMutableRawPointer(out.baseAddress.unsafelyUnwrapped))
            }
            filled = isGood ? count : 0
        }
        return isGood ? bytes : nil
    }

    /// Whether a record consists of key and value only: no expiry, no label, no pieces.
    static func isPlain(_ record: UnsafeRawBufferPointer) -> Bool { unsafe record.count > 0 && record[0] & flags == 0 }

    /// The value of a plain record for exactly this key, without a copy; nil if it fails verification.
    func openValue(
        _ record: UnsafeRawBufferPointer, at place: UnsafeRawBufferPointer, expecting key: [UInt8]
    ) -> [UInt8]? {
        guard unsafe Self.isPlain(record), var value = unsafe plaintext(record, at: place),
            unsafe value.withUnsafeBytes({ unsafe Self.ends($0, with: key) })
        else { return nil }
        value.removeLast(key.count + 2)
        return value
    }

    private static func ends(_ bytes: UnsafeRawBufferPointer, with key: [UInt8]) -> Bool {
        let start = bytes.count - 2 - key.count
        guard start >= 0 else { return false }
        let length = unsafe bytes.loadUnaligned(fromByteOffset: bytes.count - 2, as: UInt16.self)
        guard Int(UInt16(bigEndian: length)) == key.count else { return false }
        return unsafe key.withUnsafeBytes { key in
            guard let first = key.baseAddress, let other = bytes.baseAddress else { return true }
            return unsafe memcmp(first, other + start, key.count) == 0
        }
    }

    // MARK: Heads

    /// The id of the data key that a record names; 0, which no key has, if the record is too short.
    static func dataKeyID(of record: UnsafeRawBufferPointer) -> UInt32 {
        record.count >= headLength ? unsafe id(of: record) : 0
    }

    /// Whether removing the record removes more than itself: an expiry's entry, a streamed value's pieces, a label.
    static func hasMore(_ record: [UInt8]) -> Bool { record.first.map { $0 & flags != 0 } ?? false }

    private static func id(of record: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(bigEndian: unsafe record.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
    }

    private static func withAssociated<Result>(
        _ record: UnsafeRawBufferPointer, _ place: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        unsafe place.withUnsafeBytes { unsafe withAssociated(record, $0, body) }
    }

    /// The record's head and its place, side by side.
    private static func withAssociated<Result>(
        _ record: UnsafeRawBufferPointer, _ place: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        precondition(place.count <= maximumPlaceLength, "A place has at most 59 bytes.")
        var bytes: InlineArray<64, UInt8> = InlineArray(repeating: 0)
        return unsafe withUnsafeMutableBytes(of: &bytes) { out in
            unsafe out.copyMemory(from: UnsafeRawBufferPointer(rebasing: record[0..<headLength]))
            unsafe UnsafeMutableRawBufferPointer(rebasing: out[headLength...]).copyMemory(from: place)
            return unsafe body(UnsafeRawBufferPointer(rebasing: out[0..<(headLength + place.count)]))
        }
    }

    private static func damaged() -> StoreError { StoreError(.damaged, "A record does not verify.") }
}
