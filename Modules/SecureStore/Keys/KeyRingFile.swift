internal import CSecureStore
internal import Crypto
internal import SallyportBase

/// The file `keys`: the root key, wrapped by the protector's key, and the key ring, wrapped by the root key.
///
/// `SPKEYS` 0x00 version(1) = 2 | kind length(1) kind | parameters length(2) parameters | nonce(24) root key(32) tag(16)
/// | nonce(24) ring tag(16). What stands before the root key's nonce is authenticated with it, the first eight bytes
/// with the ring; both are sealed with XAES-256-GCM. Ring: index key(32), then id(4) key(32) for each data key.
struct KeyRingFile: Sendable {
    static let name = "keys"
    /// The most data keys in a ring: the current one, and those whose records still have to be re-encrypted.
    static let maximumDataKeys = 12
    private static let magic = Array("SPKEYS".utf8) + [0, 2]
    private static let maximumLength = 64 << 10
    /// The length of a protector's key, in bytes.
    private static let keyLengths = 16...64
    private static let boxOverhead = AEADKey.nonceLength + AEADKey.tagLength

    private let path: String
    /// Everything before the ring's nonce.
    private let head: [UInt8]
    private let rootKey: AEADKey

    // MARK: Writing

    /// Creates the file for a ring, with its own root key, replacing an existing one.
    ///
    /// - Parameter inPlace: is called when the file is in force, before that is durable. If it is not called, nothing has
    ///   changed.
    static func create(
        for ring: KeyRing, in directory: String, protectedBy protector: any KeyProtector,
        inPlace: (KeyRingFile) -> Void = { _ in }
    ) throws(StoreError) -> KeyRingFile {
        let (key, parameters) = try protector.makeWrappingKey()
        let kind = Array(protector.kind.utf8)
        guard (1...64).contains(kind.count), parameters.count <= 4096 else {
            throw StoreError(.tooLarge, "A protector's kind has 1 to 64 bytes, its parameters at most 4096.")
        }
        try checkLength(of: key, from: protector)
        let start = magic + [UInt8(kind.count)] + kind + UInt16(parameters.count).bigEndianBytes + parameters
        let root = MasterKey.random(in: ring.memory)
        let wrapping = unsafe key.withUnsafeBytes { unsafe wrappingKey($0, in: ring.memory) }
        let box = try unsafe sealed(MasterKey.length, with: wrapping, authenticating: start, in: ring.memory) { out in
            unsafe root.withBytes { unsafe out.copyMemory(from: $0) }
        }
        let rootKey = unsafe root.withBytes { unsafe AEADKey($0, in: ring.memory) }
        let file = KeyRingFile(path: "\(directory)/\(name)", head: start + box, rootKey: rootKey)
        try file.write(ring, dataKeys: ring.dataKeys) { inPlace(file) }
        return file
    }

    /// Writes a ring with these data keys under the same root key. Durable when it returns; after a crash, either the
    /// old or the new file is there.
    func write(
        _ ring: KeyRing, dataKeys: [KeyRing.DataKey], inPlace: () -> Void = {}
    ) throws(StoreError) {
        guard dataKeys.count <= Self.maximumDataKeys else {
            throw StoreError(.full, "At most \(Self.maximumDataKeys - 1) rotations can be under way.")
        }
        let count = 32 + 36 * dataKeys.count
        let box = try unsafe Self.sealed(count, with: rootKey, authenticating: Self.magic, in: ring.memory) { out in
            unsafe ring.indexKey.withBytes { unsafe out.copyMemory(from: $0) }
            for (index, dataKey) in dataKeys.enumerated() {
                let part = unsafe UnsafeMutableRawBufferPointer(rebasing: out[(32 + 36 * index)...])
                unsafe part.storeBytes(of: dataKey.id.bigEndian, as: UInt32.self)
                unsafe dataKey.key.withBytes {
                    unsafe UnsafeMutableRawBufferPointer(rebasing: part[4...]).copyMemory(from: $0)
                }
            }
        }
        try Files.replaceSecret(path, with: head + box, mode: 0o600, inPlace: inPlace)
    }

    /// A nonce, the sealed output of `fill`, and the tag. Unencrypted bytes are in locked memory only.
    private static func sealed(
        _ count: Int, with key: AEADKey, authenticating head: [UInt8], in memory: KeyMemory,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(StoreError) -> [UInt8] {
        let slot = memory.makeSlot()
        let nonce = SystemRandom.bytes(AEADKey.nonceLength)
        let bytes = unsafe UnsafeMutableRawBufferPointer(start: slot.pointer, count: count + AEADKey.tagLength)
        unsafe fill(UnsafeMutableRawBufferPointer(rebasing: bytes[0..<count]))
        let isSealed = unsafe nonce.withUnsafeBytes { nonce in
            unsafe head.withUnsafeBytes { unsafe key.seal(bytes, nonce: nonce, authenticating: $0) }
        }
        guard isSealed else { throw StoreError(.internalFailure, "The keys could not be wrapped.") }
        return unsafe nonce + Array(bytes)
    }

    private static func checkLength(of key: SymmetricKey, from protector: any KeyProtector) throws(StoreError) {
        guard keyLengths.contains(key.bitCount / 8) else {
            throw StoreError(
                .keyUnavailable,
                "The \(protector.kind) gives a key of \(key.bitCount / 8) bytes; a protector's key has "
                    + "\(keyLengths.lowerBound) to \(keyLengths.upperBound).")
        }
    }

    /// A protector may return a key of another length than the cipher's.
    private static func wrappingKey(_ bytes: UnsafeRawBufferPointer, in memory: KeyMemory) -> AEADKey {
        let slot = memory.makeSlot()
        unsafe MACKey(bytes, in: memory).authenticate(
            UnsafeRawBufferPointer(start: nil, count: 0), into: slot.pointer)
        return unsafe AEADKey(UnsafeRawBufferPointer(start: slot.pointer, count: 32), in: memory)
    }

    // MARK: Reading

    /// - Throws: ``StoreError/Code/wrongKey`` if the protector is another one; ``StoreError/Code/damaged``.
    static func open(
        in directory: String, protectedBy protector: any KeyProtector, memory: KeyMemory = KeyMemory()
    ) throws(StoreError) -> (ring: KeyRing, file: KeyRingFile) {
        let path = "\(directory)/\(name)"
        let parsed = try parse(Files.readCurrent(path, upTo: maximumLength), at: path)
        guard parsed.kind == protector.kind else {
            throw StoreError(
                .wrongKey, "The store at \(directory) is protected by a \(parsed.kind), not by a \(protector.kind).")
        }
        let key = try protector.wrappingKey(parameters: parsed.parameters)
        try checkLength(of: key, from: protector)
        let wrapping = unsafe key.withUnsafeBytes { unsafe wrappingKey($0, in: memory) }
        let root = unsafe opened(parsed.rootBox, with: wrapping, authenticating: parsed.start, in: memory) {
            unsafe AEADKey($0, in: memory)
        }
        guard let root else {
            throw StoreError(.wrongKey, "The \(protector.kind) does not open the store at \(directory).")
        }
        let ring = unsafe opened(parsed.ringBox, with: root, authenticating: magic, in: memory) {
            unsafe makeRing($0, in: memory)
        }
        guard let ring = ring ?? nil else { throw StoreError(.damaged, "The key ring does not verify.") }
        return (ring, KeyRingFile(path: path, head: parsed.start + parsed.rootBox, rootKey: root))
    }

    private static func opened<Result>(
        _ box: [UInt8], with key: AEADKey, authenticating head: [UInt8], in memory: KeyMemory,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        let slot = memory.makeSlot()
        guard (boxOverhead...boxOverhead + KeyMemory.slotSize).contains(box.count) else { return nil }
        let isOpen = unsafe box.withUnsafeBytes { box in
            unsafe head.withUnsafeBytes { head in
                unsafe key.open(
                    UnsafeRawBufferPointer(rebasing: box[AEADKey.nonceLength...]),
                    nonce: UnsafeRawBufferPointer(rebasing: box[..<AEADKey.nonceLength]), authenticating: head,
                    into: slot.pointer)
            }
        }
        guard isOpen else { return nil }
        return unsafe body(UnsafeRawBufferPointer(start: slot.pointer, count: box.count - boxOverhead))
    }

    private static func makeRing(_ bytes: UnsafeRawBufferPointer, in memory: KeyMemory) -> KeyRing? {
        guard bytes.count >= 68, (bytes.count - 32) % 36 == 0 else { return nil }
        let dataKeys = stride(from: 32, to: bytes.count, by: 36).map { start in
            KeyRing.DataKey(
                id: UInt32(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self)),
                key: unsafe MasterKey(
                    UnsafeRawBufferPointer(rebasing: bytes[(start + 4)..<(start + 36)]), in: memory))
        }
        return KeyRing(
            memory: memory,
            indexKey: unsafe MasterKey(UnsafeRawBufferPointer(rebasing: bytes[0..<32]), in: memory),
            dataKeys: dataKeys)
    }

    struct Parsed {
        var start: [UInt8]
        var kind: String
        var parameters: [UInt8]
        var rootBox: [UInt8]
        var ringBox: [UInt8]
    }

    /// - Parameter path: of the file, for errors.
    static func parse(_ bytes: [UInt8], at path: String = name) throws(StoreError) -> Parsed {
        var rest = bytes[...]
        func take(_ count: Int) throws(StoreError) -> ArraySlice<UInt8> {
            guard rest.count >= count else {
                throw StoreError(
                    .damaged, "The file of a store's keys \(path) is cut short.", underlying: StoreFileLost())
            }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        guard try take(6) == magic[0..<6] else {
            throw StoreError(.damaged, "\(path) is not the file of a store's keys.", underlying: StoreFileLost())
        }
        guard try take(2) == magic[6...] else {
            throw StoreError(.unsupportedFormat, "The keys of a store \(path) were written by another version.")
        }
        let kindLength = Int(try take(1).first ?? 0)
        let kind = String(decoding: try take(kindLength), as: UTF8.self)
        let parametersLength = Int(UInt16(bigEndianBytes: try take(2)))
        let parameters = Array(try take(parametersLength))
        let start = Array(bytes[..<rest.startIndex])
        let rootBox = Array(try take(boxOverhead + MasterKey.length))
        return Parsed(start: start, kind: kind, parameters: parameters, rootBox: rootBox, ringBox: Array(rest))
    }
}
