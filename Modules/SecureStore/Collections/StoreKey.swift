public import FoundationEssentials

/// A type whose values name records. At most ``SecureStore/maximumKeyLength`` bytes.
public protocol StoreKey: Sendable, Hashable {
    /// The key as bytes; equal keys give equal bytes and no others do. Keys are ordered as their bytes are.
    var storeOctets: [UInt8] { get }
    /// nil where the bytes are not a key of this type.
    init?(storeOctets: [UInt8])
}

extension String: StoreKey {
    public var storeOctets: [UInt8] { Array(utf8) }
    public init?(storeOctets: [UInt8]) { self.init(validating: storeOctets, as: UTF8.self) }
}

/// Big-endian, the sign turned, so that the order of bytes is that of numbers.
extension StoreKey where Self: FixedWidthInteger {
    public var storeOctets: [UInt8] {
        let sign: Magnitude = Self.isSigned ? 1 << Magnitude(Self.bitWidth - 1) : 0
        let bits = Magnitude(truncatingIfNeeded: self) ^ sign
        return unsafe withUnsafeBytes(of: bits.bigEndian) { unsafe Array($0) }
    }

    public init?(storeOctets: [UInt8]) {
        guard storeOctets.count == Self.bitWidth / 8 else { return nil }
        let sign: Magnitude = Self.isSigned ? 1 << Magnitude(Self.bitWidth - 1) : 0
        self.init(truncatingIfNeeded: storeOctets.reduce(0) { ($0 << 8 | Magnitude($1)) } ^ sign)
    }
}

extension Int: StoreKey {}
extension Int64: StoreKey {}
extension Int32: StoreKey {}
extension UInt64: StoreKey {}
extension UInt32: StoreKey {}

extension UUID: StoreKey {
    public var storeOctets: [UInt8] { unsafe withUnsafeBytes(of: uuid) { unsafe Array($0) } }
    public init?(storeOctets: [UInt8]) {
        guard storeOctets.count == 16 else { return nil }
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        unsafe withUnsafeMutableBytes(of: &uuid) { unsafe $0.copyBytes(from: storeOctets) }
        self.init(uuid: uuid)
    }
}

extension [UInt8]: StoreKey {
    public var storeOctets: [UInt8] { self }
    public init?(storeOctets: [UInt8]) { self = storeOctets }
}
