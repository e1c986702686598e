internal import FoundationEssentials

/// A typed collection of records in a store, for ``ReadTransaction`` and ``WriteTransaction``.
///
/// Reading a collection with another value type than it was written with throws ``StoreError/Code/encoding``.
public struct StoreCollection<Key: StoreKey, Value: Sendable>: Sendable {
    /// 1 to ``SecureStore/maximumNameLength`` bytes of UTF-8. Stored encrypted.
    public let name: String
    /// Whether the collection can be read in the order of its keys.
    public let order: CollectionOrder
    let fullName: [UInt8]
    let cipher: RecordCipher
    let encode: @Sendable (Value) throws(StoreError) -> [UInt8]
    let decode: @Sendable ([UInt8]) throws(StoreError) -> Value

    init(
        name: String, order: CollectionOrder, fullName: [UInt8], cipher: RecordCipher, codec: ValueCodec<Value>
    ) {
        self.name = name
        self.order = order
        self.fullName = fullName
        self.cipher = cipher
        encode = codec.encode
        decode = codec.decode
    }

    /// The key's bytes; throws if this key or the collection's name is invalid.
    func bytes(of key: Key) throws(StoreError) -> [UInt8] {
        guard (1...SecureStore.maximumNameLength).contains(name.utf8.count) else {
            throw StoreError(.invalidName, "A collection's name has 1 to \(SecureStore.maximumNameLength) bytes.")
        }
        let bytes = key.storeBytes
        guard bytes.count <= SecureStore.maximumKeyLength else {
            throw StoreError(.tooLarge, "A key has at most \(SecureStore.maximumKeyLength) bytes.")
        }
        return bytes
    }
}

// MARK: Reading records

/// A transaction as a source of records and of streamed values' pieces.
protocol RecordSource {
    var ring: KeyRing { get }
    /// Records that have expired by then are hidden.
    var now: UInt64 { get }
    func record(at place: [UInt8]) throws(StoreError) -> [UInt8]?
    /// As ``record(at:)``, for large records that are unlikely to be read again soon.
    func recordReadOnce(at place: [UInt8]) throws(StoreError) -> [UInt8]?
}

extension RecordSource {
    func recordReadOnce(at place: [UInt8]) throws(StoreError) -> [UInt8]? { try record(at: place) }
}

extension StoreCollection {
    /// The value, or nil where the record has expired.
    func value(
        of record: [UInt8], at place: [UInt8], expecting key: [UInt8], seenBy source: some RecordSource
    ) throws(StoreError) -> Value? {
        let bytes = try cipher.bytes(of: record, at: place, expecting: key, named: name, seenBy: source)
        return try bytes.map(decode)
    }

    func pair(
        of record: [UInt8], at place: [UInt8], seenBy source: some RecordSource
    ) throws(StoreError) -> (Key, Value)? {
        let opened = try opened(record, at: place)
        guard !opened.isExpired(at: source.now) else { return nil }
        return (try key(opened.key), try decode(opened.bytes(from: source)))
    }

    func key(_ bytes: [UInt8]) throws(StoreError) -> Key {
        guard let key = Key(storeBytes: bytes) else {
            throw StoreError(.encoding, "A key in collection \(name) is not a \(Key.self).")
        }
        return key
    }

    func opened(_ record: [UInt8], at place: [UInt8]) throws(StoreError) -> Record {
        do throws(StoreError) { return try cipher.open(record, at: place) } catch {
            throw error.code == .damaged ? damaged() : error
        }
    }

    func damaged() -> StoreError { StoreError(.damaged, "A record in collection \(name) does not verify.") }
}

extension RecordCipher {
    /// The value's bytes, or nil where the record has expired.
    func bytes(
        of record: [UInt8], at place: [UInt8], expecting key: [UInt8], named name: String,
        seenBy source: some RecordSource
    ) throws(StoreError) -> [UInt8]? {
        let damage = StoreError(.damaged, "A record in collection \(name) does not verify.")
        let opened: Record
        do throws(StoreError) { opened = try open(record, at: place) } catch {
            throw error.code == .damaged ? damage : error
        }
        guard opened.key == key else { throw damage }
        return opened.isExpired(at: source.now) ? nil : try opened.bytes(from: source)
    }
}

extension Record {
    /// The value's bytes, even if they are stored in pieces.
    func bytes(from source: some RecordSource) throws(StoreError) -> [UInt8] {
        guard isStreamed else { return value }
        guard let manifest = StreamManifest(bytes: value) else {
            throw StoreError(.damaged, "The record that lists the pieces of a value does not verify.")
        }
        return try source.pieces(of: manifest)
    }
}

// MARK: Values

/// How values are converted to bytes.
struct ValueCodec<Value: Sendable>: Sendable {
    let encode: @Sendable (Value) throws(StoreError) -> [UInt8]
    let decode: @Sendable ([UInt8]) throws(StoreError) -> Value
}

extension ValueCodec where Value == [UInt8] {
    static var bytes: ValueCodec<[UInt8]> {
        ValueCodec(
            encode: { value throws(StoreError) in value }, decode: { bytes throws(StoreError) in bytes })
    }
}

extension ValueCodec where Value: Codable {
    /// JSON, which stays readable when a later version of the app adds a field.
    static var json: ValueCodec<Value> {
        ValueCodec(
            encode: { value throws(StoreError) in
                do { return Array(try JSONEncoder().encode(value)) } catch {
                    throw StoreError(.encoding, "A \(Value.self) cannot be encoded.", underlying: error)
                }
            },
            decode: { bytes throws(StoreError) in
                do { return try JSONDecoder().decode(Value.self, from: Data(bytes)) } catch {
                    throw StoreError(.encoding, "A record is not a \(Value.self).", underlying: error)
                }
            })
    }
}
