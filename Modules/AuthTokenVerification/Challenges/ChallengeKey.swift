internal import Crypto
internal import SallyportBase

/// Makes challenges and recognises them again. Each challenge contains the time until which it can be used, and an
/// authentication code over that. So nothing is stored about a challenge until a token uses it, and none is lost
/// however many are made.
///
/// All servers that accept each other's challenges have the same key.
public struct ChallengeKey: Sendable {
    /// The shortest secret, in bytes.
    public static let minimumLength = 32

    private let key: SymmetricKey

    /// A random key for this process alone: its challenges are not accepted after a restart.
    public init() { key = SymmetricKey(size: .bits256) }

    /// A key that several servers share.
    ///
    /// - Parameter secret: at least ``minimumLength`` random bytes, the same for all servers and used for nothing else.
    ///   Nil is returned for fewer bytes.
    public init?(secret: [UInt8]) {
        guard secret.count >= Self.minimumLength else { return nil }
        key = SymmetricKey(data: secret)
    }

    // MARK: Form

    // end(8) | random(16) | HMAC-SHA-256 of the purpose and of both (32), as hexadecimal digits.
    private static let endLength = 8
    private static let randomLength = 16
    private static let bodyLength = endLength + randomLength
    private static let purpose = Array("sallyport token challenge 1".utf8)

    /// - Parameter end: the time from which it cannot be used, in Unix seconds.
    func make(until end: Int64) -> String {
        challenge(UInt64(bitPattern: end).bigEndianBytes + [UInt8].random(count: Self.randomLength))
    }

    /// The time from which a challenge cannot be used, in Unix seconds. Nil for one that this key did not make, and for
    /// another spelling of one that it made, which could otherwise be used a second time.
    func end(of challenge: String) -> Int64? {
        guard let body = Self.body(of: challenge), ConstantTime.areEqual(challenge, self.challenge(body)) else {
            return nil
        }
        return Int64(bitPattern: UInt64(bigEndianBytes: body.prefix(Self.endLength)))
    }

    private func challenge(_ body: [UInt8]) -> String {
        Hexadecimal.text(body + Array(HMAC<SHA256>.authenticationCode(for: Self.purpose + body, using: key)))
    }

    /// The bytes of a challenge before its code, which is not verified here; nil if its digits are not hexadecimal.
    private static func body(of challenge: String) -> [UInt8]? {
        let digits = challenge.utf8.prefix(2 * bodyLength).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 2 * bodyLength else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
