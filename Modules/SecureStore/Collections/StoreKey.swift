public import FoundationEssentials

/// A type whose values name records. At most ``SecureStore/maximumKeyLength`` octets.
public protocol StoreKey: Sendable, Hashable {
    /// The key as octets; equal keys give equal octets and no others do.
    var storeOctets: [UInt8] { get }
    /// nil where the octets are not a key of this type.
    init?(storeOctets: [UInt8])
}

extension String: StoreKey {
    public var storeOctets: [UInt8] { Array(utf8) }
    public init?(storeOctets: [UInt8]) { self.init(validating: storeOctets, as: UTF8.self) }
}

extension Int64: StoreKey {
    public var storeOctets: [UInt8] { UInt64(bitPattern: self).bigEndianOctets }
    public init?(storeOctets: [UInt8]) {
        guard storeOctets.count == 8 else { return nil }
        self.init(bitPattern: UInt64(bigEndianOctets: storeOctets))
    }
}

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
