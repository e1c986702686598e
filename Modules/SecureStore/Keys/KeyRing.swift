internal import Crypto

/// The store's own keys: random, made with the store, never stored unwrapped.
///
/// The index key hides names and finds records, and stays. Data keys encrypt records; each record names its one, so
/// that a new data key can be added without touching the old records.
struct KeyRing: Sendable {
    struct DataKey: Sendable {
        let id: UInt32
        let key: SymmetricKey
    }

    let indexKey: SymmetricKey
    /// The last one encrypts.
    let dataKeys: [DataKey]

    var current: DataKey { dataKeys[dataKeys.count - 1] }

    static func generate() -> KeyRing {
        KeyRing(indexKey: SymmetricKey(size: .bits256), dataKeys: [DataKey(id: 1, key: SymmetricKey(size: .bits256))])
    }

    func dataKey(id: UInt32) -> SymmetricKey? { dataKeys.first { $0.id == id }?.key }
}

extension KeyRing {
    /// 32 octets of index key, then 4 + 32 octets for each data key.
    var octets: [UInt8] {
        dataKeys.reduce(into: indexKey.octets) { octets, dataKey in
            octets += dataKey.id.bigEndianOctets + dataKey.key.octets
        }
    }

    init?(octets: [UInt8]) {
        guard octets.count >= 68, (octets.count - 32) % 36 == 0 else { return nil }
        indexKey = SymmetricKey(data: octets[0..<32])
        dataKeys = stride(from: 32, to: octets.count, by: 36).map { start in
            DataKey(
                id: UInt32(bigEndianOctets: octets[start..<start + 4]),
                key: SymmetricKey(data: octets[start + 4..<start + 36]))
        }
    }
}

extension SymmetricKey {
    var octets: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    var bigEndianOctets: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (Self.bitWidth - 8 - 8 * $0)) }
    }

    init(bigEndianOctets octets: some Sequence<UInt8>) { self = octets.reduce(0) { $0 << 8 | Self($1) } }
}
