public import FoundationEssentials

/// A type whose values are keys of records. A key has at most ``SecureStore/maximumKeyLength`` bytes.
public protocol StoreKey: Sendable, Hashable {
    /// The key's bytes; only equal keys have equal bytes. Keys are ordered by their bytes.
    var storeBytes: [UInt8] { get }
    /// Nil if the bytes are not a key of this type.
    init?(storeBytes: [UInt8])
}

extension String: StoreKey {
    /// The text as UTF-8; texts that Swift holds equal but that are composed differently are different keys.
    public var storeBytes: [UInt8] { Array(utf8) }
    /// Nil if the bytes are not UTF-8.
    public init?(storeBytes: [UInt8]) { self.init(validating: storeBytes, as: UTF8.self) }
}

/// Big-endian with the sign bit inverted, so that the bytes sort like the numbers.
extension StoreKey where Self: FixedWidthInteger {
    /// As many bytes as the type has.
    public var storeBytes: [UInt8] {
        let sign: Magnitude = Self.isSigned ? 1 << Magnitude(Self.bitWidth - 1) : 0
        let bits = Magnitude(truncatingIfNeeded: self) ^ sign
        return unsafe withUnsafeBytes(of: bits.bigEndian) { unsafe Array($0) }
    }

    /// Nil if there are not as many bytes as the type has.
    public init?(storeBytes: [UInt8]) {
        guard storeBytes.count == Self.bitWidth / 8 else { return nil }
        let sign: Magnitude = Self.isSigned ? 1 << Magnitude(Self.bitWidth - 1) : 0
        self.init(truncatingIfNeeded: storeBytes.reduce(0) { ($0 << 8 | Magnitude($1)) } ^ sign)
    }
}

extension Int: StoreKey {}
extension Int64: StoreKey {}
extension Int32: StoreKey {}
extension UInt64: StoreKey {}
extension UInt32: StoreKey {}

extension UUID: StoreKey {
    /// The 16 bytes in the order of the text (RFC 9562 §4).
    public var storeBytes: [UInt8] { unsafe withUnsafeBytes(of: uuid) { unsafe Array($0) } }
    /// Nil unless there are 16 bytes.
    public init?(storeBytes: [UInt8]) {
        guard storeBytes.count == 16 else { return nil }
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        unsafe withUnsafeMutableBytes(of: &uuid) { unsafe $0.copyBytes(from: storeBytes) }
        self.init(uuid: uuid)
    }
}

extension [UInt8]: StoreKey {
    /// The bytes themselves.
    public var storeBytes: [UInt8] { self }
    /// Never nil.
    public init?(storeBytes: [UInt8]) { self = storeBytes }
}
