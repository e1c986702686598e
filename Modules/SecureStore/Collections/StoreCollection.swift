internal import FoundationEssentials

/// A typed set of records in a store: what is read and written by ``ReadTransaction`` and ``WriteTransaction``.
///
/// Values of one name under two types are the app's mistake, and show as ``StoreError/Code/encoding``.
public struct StoreCollection<Key: StoreKey, Value: Sendable>: Sendable {
    public let name: String
    let cipher: RecordCipher
    let encode: @Sendable (Value) throws(StoreError) -> [UInt8]
    let decode: @Sendable ([UInt8]) throws(StoreError) -> Value

    init(name: String, cipher: RecordCipher, codec: ValueCodec<Value>) {
        self.name = name
        self.cipher = cipher
        encode = codec.encode
        decode = codec.decode
    }
}

/// How values become octets.
struct ValueCodec<Value: Sendable>: Sendable {
    let encode: @Sendable (Value) throws(StoreError) -> [UInt8]
    let decode: @Sendable ([UInt8]) throws(StoreError) -> Value
}

extension ValueCodec where Value == [UInt8] {
    static var octets: ValueCodec<[UInt8]> {
        ValueCodec(
            encode: { value throws(StoreError) in value }, decode: { octets throws(StoreError) in octets })
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
            decode: { octets throws(StoreError) in
                do { return try JSONDecoder().decode(Value.self, from: Data(octets)) } catch {
                    throw StoreError(.encoding, "A record is not a \(Value.self).", underlying: error)
                }
            })
    }
}
