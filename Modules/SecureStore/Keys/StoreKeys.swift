internal import CSecureStore
internal import Crypto

/// A key of HMAC-SHA-256 (RFC 2104), ready for use.
@safe
struct MACKey: Sendable {
    private let slot: KeySlot

    init(_ key: UnsafeRawBufferPointer, in memory: KeyMemory) {
        slot = memory.makeSlot()
        unsafe sp_mac_key_make(slot.pointer, key.baseAddress, key.count)
    }

    /// Writes the code of `first` followed by `second` to `out`; 32 bytes.
    func authenticate(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer
    ) {
        unsafe sp_mac(slot.pointer, first.baseAddress, first.count, second.baseAddress, second.count, out)
    }

    func authenticate(_ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer) {
        unsafe sp_mac(slot.pointer, bytes.baseAddress, bytes.count, nil, 0, out)
    }

    func code(_ first: [UInt8], _ second: [UInt8] = []) -> [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: 32) { out, count in
            unsafe first.withUnsafeBytes { first in
                unsafe second.withUnsafeBytes { second in
                    unsafe authenticate(first, second, into: UnsafeMutableRawPointer(out.baseAddress.unsafelyUnwrapped))
                }
            }
            count = 32
        }
    }
}

/// A key of XAES-256-GCM, ready for use.
@safe
struct AEADKey: Sendable {
    static let nonceLength = 24
    static let tagLength = 16
    private let slot: KeySlot

    init(_ key: UnsafeRawBufferPointer, in memory: KeyMemory) {
        precondition(key.count == 32, "A key of XAES-256-GCM has 32 bytes.")
        slot = memory.makeSlot()
        unsafe sp_aead_key_make(slot.pointer, key.baseAddress)
    }

    /// Seals in place; the last 16 bytes of `bytes` are reserved for the tag.
    func seal(
        _ bytes: UnsafeMutableRawBufferPointer, nonce: UnsafeRawBufferPointer,
        authenticating head: UnsafeRawBufferPointer
    ) -> Bool {
        precondition(nonce.count == Self.nonceLength && bytes.count >= Self.tagLength)
        return unsafe sp_aead_seal(
            slot.pointer, nonce.baseAddress, head.baseAddress, head.count, bytes.baseAddress,
            bytes.count - Self.tagLength) == 1
    }

    /// Decrypts ciphertext and tag into `out`, which is 16 bytes shorter; false, with nothing in `out`, if it was not
    /// sealed with this key, nonce and head.
    func open(
        _ bytes: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, authenticating head: UnsafeRawBufferPointer,
        into out: UnsafeMutableRawPointer
    ) -> Bool {
        precondition(nonce.count == Self.nonceLength && bytes.count >= Self.tagLength)
        return unsafe sp_aead_open(
            slot.pointer, nonce.baseAddress, head.baseAddress, head.count, bytes.baseAddress,
            bytes.count - Self.tagLength, out) == 1
    }
}

/// A key of 32 bytes from which others are derived.
@safe
struct MasterKey: Sendable {
    static let length = 32
    private let slot: KeySlot
    private let memory: KeyMemory
    private let deriving: MACKey

    static func random(in memory: KeyMemory) -> MasterKey {
        let slot = memory.makeSlot()
        unsafe SystemRandom.fill(UnsafeMutableRawPointer(slot.pointer), length)
        return MasterKey(slot, in: memory)
    }

    init(_ bytes: UnsafeRawBufferPointer, in memory: KeyMemory) {
        precondition(bytes.count == Self.length)
        let slot = memory.makeSlot()
        unsafe slot.pointer.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: Self.length)
        self.init(slot, in: memory)
    }

    private init(_ slot: KeySlot, in memory: KeyMemory) {
        self.slot = slot
        self.memory = memory
        deriving = unsafe MACKey(UnsafeRawBufferPointer(start: slot.pointer, count: Self.length), in: memory)
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe body(UnsafeRawBufferPointer(start: slot.pointer, count: Self.length))
    }

    /// HKDF-Expand with SHA-256 (RFC 5869 §2.3); this key is uniform and needs no extraction (§3.3).
    private func derive<Result>(_ info: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let out = memory.makeSlot()
        unsafe info.withUnsafeBytes { info in
            var counter: UInt8 = 1
            unsafe withUnsafeBytes(of: &counter) { unsafe deriving.authenticate(info, $0, into: out.pointer) }
        }
        return unsafe body(UnsafeRawBufferPointer(start: out.pointer, count: Self.length))
    }

    func macKey(for info: [UInt8]) -> MACKey { unsafe derive(info) { unsafe MACKey($0, in: memory) } }
    func aeadKey(for info: [UInt8]) -> AEADKey { unsafe derive(info) { unsafe AEADKey($0, in: memory) } }
}
