internal import Crypto
internal import SallyportWire

/// Access keys: 128 random bits in base32, shown once and kept as a digest.
enum AccessKey {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    static func generate() -> String {
        var generator = SystemRandomNumberGenerator()
        // 26 characters of 5 bits each.
        let characters = (0..<26).map { _ in alphabet[Int.random(in: 0..<32, using: &generator)] }
        return String(decoding: characters, as: UTF8.self)
    }

    /// The digest under which a key is stored. It covers the user's name, which contains no colon: a key without its
    /// user finds nothing, and no given text is compared with a secret one.
    static func digest(_ key: String, of user: String) -> [UInt8] {
        Array(SHA256.hash(data: Array("\(user):\(key)".utf8)))
    }

    /// The instance that a key makes. It follows from the key, so that no key makes two: not even one whose record the
    /// owner of a fleet's database has put back, since an instance is known for longer than an unused key is valid.
    ///
    /// - Parameter digest: as ``digest(_:of:)`` gives it.
    /// - Returns: a UUID of version 8 (RFC 9562 §5.8).
    static func instance(ofDigest digest: [UInt8]) -> InstanceIdentifier {
        let hash = Array(SHA256.hash(data: Array("sallyport instance".utf8) + digest))
        return InstanceIdentifier(version8: hash)
    }
}
