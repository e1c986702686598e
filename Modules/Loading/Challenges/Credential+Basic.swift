internal import FoundationEssentials
package import SallyportBase
package import SallyportCore

extension Credential {
    /// The value of an `Authorization` or `Proxy-Authorization` field for Basic (RFC 7617). Always UTF-8, the only
    /// charset that a server may name (§2.1).
    ///
    /// - Throws: `invalidRequest` for a colon in the user's name, and for control characters.
    package func basicAuthorization() throws(LoadError) -> Redacted<String> {
        let (user, password) = (user.utf8, password.reveal().utf8)
        guard !user.contains(UInt8(ascii: ":")), !user.contains(where: Self.isControl),
            !password.contains(where: Self.isControl)
        else {
            throw LoadError(
                .invalidRequest, at: .request,
                "Basic allows no colon in a user's name, and no control character in name or password.")
        }
        let bytes = Array(user) + [UInt8(ascii: ":")] + password
        return Redacted("Basic \(Data(bytes).base64EncodedString())")
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 32 || byte == 127 }
}
