/// SipHash-2-4 (https://www.aumasson.jp/siphash/siphash.pdf): a keyed digest of 64 bits, fast for short texts.
///
/// Names the entries in memory and in the index. Without the store's secret, it is not possible to tell what a hash
/// stands for, or to create two texts with the same hash.
struct KeyHash: Sendable {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    private var tail: UInt64 = 0
    private var count: UInt64 = 0

    /// - Parameter key: its first 16 bytes are used.
    init(key: [UInt8]) {
        precondition(key.count >= 16, "The key of a hash has 16 bytes.")
        let k0 = UInt64(littleEndian: key[0..<8])
        let k1 = UInt64(littleEndian: key[8..<16])
        v0 = k0 ^ 0x736f_6d65_7073_6575
        v1 = k1 ^ 0x646f_7261_6e64_6f6d
        v2 = k0 ^ 0x6c79_6765_6e65_7261
        v3 = k1 ^ 0x7465_6462_7974_6573
    }

    @inline(__always)
    private mutating func round() {
        v0 &+= v1
        v2 &+= v3
        v1 = (v1 << 13 | v1 >> 51) ^ v0
        v3 = (v3 << 16 | v3 >> 48) ^ v2
        v0 = v0 << 32 | v0 >> 32
        v2 &+= v1
        v0 &+= v3
        v1 = (v1 << 17 | v1 >> 47) ^ v2
        v3 = (v3 << 21 | v3 >> 43) ^ v0
        v2 = v2 << 32 | v2 >> 32
    }

    @inline(__always)
    mutating func combine(byte: UInt8) {
        tail |= UInt64(byte) << (8 * (count & 7))
        count &+= 1
        guard count & 7 == 0 else { return }
        absorb(tail)
        tail = 0
    }

    @inline(__always)
    private mutating func absorb(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    mutating func combine(_ text: String) {
        let isDone: Void? = text.utf8.withContiguousStorageIfAvailable { unsafe combine(all: $0) }
        if isDone == nil { for byte in text.utf8 { combine(byte: byte) } }
    }

    mutating func combine(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { unsafe combine(all: $0) }
    }

    /// Eight bytes at a time, wherever the last word ended: each request is hashed.
    private mutating func combine(all buffer: UnsafeBufferPointer<UInt8>) {
        let bytes = UnsafeRawBufferPointer(buffer)
        var place = 0
        let shift = 8 * (count & 7)
        while place + 8 <= bytes.count {
            // SAFETY: there are eight bytes at `place`.
            let word = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            absorb(tail | word &<< shift)
            tail = shift == 0 ? 0 : word &>> (64 - shift)
            count &+= 8
            place += 8
        }
        while place < bytes.count {
            combine(byte: unsafe bytes[place])
            place += 1
        }
    }

    consuming func finalize() -> UInt64 {
        let last = tail | (count << 56)
        v3 ^= last
        round()
        round()
        v0 ^= last
        v2 ^= 0xff
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    /// The hash of this text only.
    func code(of text: String) -> UInt64 {
        var hash = self
        hash.combine(text)
        return hash.finalize()
    }
}

extension UInt64 {
    init(littleEndian bytes: some Sequence<UInt8>) {
        self = bytes.enumerated().reduce(0) { $0 | UInt64($1.element) << (8 * UInt64($1.offset)) }
    }
}
