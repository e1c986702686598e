internal import Crypto

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
}
