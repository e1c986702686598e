internal import Crypto
internal import SallyportCore

/// Makes challenges and knows its own again: each carries until when it can be used, and an authentication code over
/// that, so that nothing is kept of a challenge until a token has used it. However many are asked for, none is lost.
///
/// All servers that take each other's challenges have the same key.
public struct ChallengeKey: Sendable {
    /// The shortest secret, in bytes.
    public static let minimumLength = 32

    private let key: SymmetricKey

    /// A key of this process alone: challenges end with it.
    public init() { key = SymmetricKey(size: .bits256) }

    /// A key that several servers share.
    ///
    /// - Parameter secret: at least ``minimumLength`` random bytes, the same for all, and used for nothing else; nil is
    ///   returned for fewer.
    public init?(secret: [UInt8]) {
        guard secret.count >= Self.minimumLength else { return nil }
        key = SymmetricKey(data: secret)
    }

    // MARK: Form

    // end(8) | random(16) | HMAC-SHA-256 of what it is for and of both (32), as hexadecimal digits.
    private static let endLength = 8
    private static let bodyLength = endLength + 16
    private static let length = bodyLength + 32
    private static let purpose = Array("sallyport token challenge 1".utf8)

    /// - Parameter end: from when on it cannot be used, in Unix seconds.
    func make(until end: Int64) -> String {
        var generator = SystemRandomNumberGenerator()
        var body = UInt64(bitPattern: end).bigEndianOctets
        for _ in 0..<2 { body += generator.next().bigEndianOctets }
        return Hexadecimal.text(body + Array(HMAC<SHA256>.authenticationCode(for: Self.purpose + body, using: key)))
    }

    /// From when on a challenge cannot be used, in Unix seconds; nil for one that this key did not make.
    func end(of challenge: String) -> Int64? {
        guard let octets = Self.octets(of: challenge) else { return nil }
        let body = octets.prefix(Self.bodyLength)
        let isOurs = HMAC<SHA256>.isValidAuthenticationCode(
            Array(octets.dropFirst(Self.bodyLength)), authenticating: Self.purpose + body, using: key)
        guard isOurs else { return nil }
        return Int64(bitPattern: UInt64(bigEndianOctets: body.prefix(Self.endLength)))
    }

    /// Nil for anything but the one spelling that ``make(until:)`` has: a second spelling could be used a second time.
    private static func octets(of challenge: String) -> [UInt8]? {
        let digits = Array(challenge.utf8)
        guard digits.count == 2 * length else { return nil }
        var octets: [UInt8] = []
        for position in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[position]), let low = value(of: digits[position + 1]) else { return nil }
            octets.append(high << 4 | low)
        }
        return octets
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
