internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials

/// Encrypts the records of one collection, and hides their keys.
///
/// AES-256-GCM-SIV (RFC 8452) with random nonces: a repeated nonce reveals no more than that two records are equal.
/// A record is bound to its collection and key by the associated data, so that one copied over another is refused.
///
/// Record: version(1) = 1 | data key's id(4) | nonce(12) | ciphertext | tag(16);
/// plaintext: key length(4) | key | value.
struct RecordCipher: Sendable {
    /// The octets that a record has besides key and value.
    static let overhead = 1 + 4 + 12 + 4 + 16
    static let identifierLength = 16

    /// What the collection's records begin with in the tree: 16 octets that say nothing of its name.
    let identifier: [UInt8]
    /// Digests records for the collection's sum.
    let sumKey: SymmetricKey
    private let indexKey: SymmetricKey
    private let recordKeys: [UInt32: SymmetricKey]
    private let currentID: UInt32

    init(ring: KeyRing, name: [UInt8]) {
        let digest = HMAC<SHA256>.authenticationCode(for: Array("collection ".utf8) + name, using: ring.indexKey)
        self.init(ring: ring, identifier: Array(Array(digest).prefix(Self.identifierLength)))
    }

    /// For who has a collection's identifier and not its name: verification.
    init(ring: KeyRing, identifier: [UInt8]) {
        self.identifier = identifier
        indexKey = Self.derive(ring.indexKey, "index", identifier)
        sumKey = Self.derive(ring.indexKey, "sum", identifier)
        recordKeys = Dictionary(
            uniqueKeysWithValues: ring.dataKeys.map { ($0.id, Self.derive($0.key, "records", identifier)) })
        currentID = ring.current.id
    }

    private static func derive(_ key: SymmetricKey, _ use: String, _ identifier: [UInt8]) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: Array("sallyport store \(use) ".utf8) + identifier, outputByteCount: 32)
    }

    /// Where a record lies in the tree: the collection's identifier and 16 octets that depend on the key.
    func place(of key: [UInt8]) -> [UInt8] {
        let code = HMAC<SHA256>.authenticationCode(for: key, using: indexKey)
        return identifier + Array(code).prefix(16)
    }

    func seal(key: [UInt8], value: [UInt8], at place: [UInt8]) throws(StoreError) -> [UInt8] {
        guard let recordKey = recordKeys[currentID] else {
            throw StoreError(.internalFailure, "The ring has no current key.")
        }
        let head = [1] + currentID.bigEndianOctets
        let plaintext = UInt32(key.count).bigEndianOctets + key + value
        do {
            let box = try AES.GCM._SIV.seal(plaintext, using: recordKey, authenticating: head + place)
            return head + Array(box.combined)
        } catch {
            throw StoreError(.internalFailure, "A record could not be encrypted.", underlying: error)
        }
    }

    /// - Throws: ``StoreError/Code/damaged`` for anything but what ``seal(key:value:at:)`` made for this place.
    func open(_ record: [UInt8], at place: [UInt8]) throws(StoreError) -> (key: [UInt8], value: [UInt8]) {
        guard record.count >= Self.overhead, record[0] == 1,
            let recordKey = recordKeys[UInt32(bigEndianOctets: record[1..<5])],
            let box = try? AES.GCM._SIV.SealedBox(combined: record[5...]),
            let plaintext = try? AES.GCM._SIV.open(box, using: recordKey, authenticating: Array(record[0..<5]) + place)
        else { throw StoreError(.damaged, "A record does not verify.") }
        let octets = Array(plaintext)
        let length = Int(UInt32(bigEndianOctets: octets[0..<4]))
        guard octets.count >= 4 + length else { throw StoreError(.damaged, "A record does not verify.") }
        return (Array(octets[4..<4 + length]), Array(octets[(4 + length)...]))
    }
}
