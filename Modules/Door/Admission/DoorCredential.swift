public import SallyportBase
internal import SallyportWire

/// A secret of 256 bits by which programs of other users may use a door: the password of Basic (RFC 7617) or of SOCKS
/// (RFC 1929). The user name sent with it is ignored.
public struct DoorCredential: Sendable, Hashable {
    /// The user name for programs that need one beside the password.
    public static let user = "sallyport"

    /// 43 to 255 letters, digits, hyphens and underscores; 43 for a new one, the base64url of 32 random bytes.
    public let password: Redacted<String>

    /// Makes a new credential from the system's random numbers.
    public init() { password = Redacted(Base64URL.encode([UInt8].random(count: 32))) }

    /// Reads a credential that was made before.
    ///
    /// - Throws: `invalidCredential` unless it is 43 to 255 letters, digits, `-` and `_`, so that it needs no escaping in a
    ///   URL.
    public init(_ text: String) throws(DoorError) {
        guard (43...255).contains(text.utf8.count), text.utf8.allSatisfy(Self.isPlain) else {
            throw DoorError(
                .invalidCredential, "A door's credential is 43 to 255 letters, digits, hyphens and underscores.")
        }
        password = Redacted(text)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Compares in a time that depends on the length only.
    func matches(_ shown: some Collection<UInt8>) -> Bool {
        ConstantTime.areEqual(shown, password.reveal().utf8)
    }
}
