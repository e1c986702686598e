package import SallyportBase
package import SallyportCore

/// The link that an administrator gives to the person who activates an app: `sallyport://HOST:PORT/?ca=…&user=…&key=…`.
///
/// `ca` is the base64url SHA-256 of the DER of the gateway's CA certificate, the only trust anchor of the first
/// contact. At most 2,048 bytes; each parameter occurs exactly once, and there are no others.
package struct ActivationLink: Sendable, Hashable, CustomStringConvertible {
    package static let maximumLength = 2048

    /// The gateway's control listener.
    package let gateway: Endpoint
    /// 32 bytes.
    package let authorityFingerprint: [UInt8]
    /// 1 to 254 bytes of UTF-8 without control characters and colons (RFC 7617 §2), and no space at either end.
    package let user: String
    /// 1 to 128 visible ASCII characters.
    package let accessKey: Redacted<String>

    package init(
        gateway: Endpoint, authorityFingerprint: [UInt8], user: String, accessKey: Redacted<String>
    ) throws(WireError) {
        guard authorityFingerprint.count == 32 else { throw WireError(.malformed, "ca is a SHA-256.") }
        guard BasicCredentials.isUser(user) else {
            throw WireError(
                .malformed, "user has 1 to 254 bytes, no control characters, no colon, and no space at either end.")
        }
        let key = accessKey.reveal().utf8
        guard (1...128).contains(key.count), key.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw WireError(.malformed, "key has 1 to 128 visible characters.")
        }
        self.gateway = gateway
        self.authorityFingerprint = authorityFingerprint
        self.user = user
        self.accessKey = accessKey
    }

    /// Reads a link; white space around it, as from a file or a terminal, is removed.
    package init(_ text: String) throws(WireError) {
        guard text.utf8.count <= Self.maximumLength else {
            throw WireError(.tooLarge, "An activation link has at most \(Self.maximumLength) bytes.")
        }
        guard let url = try? RequestURL(text), url.scheme == "sallyport", let authority = url.authority,
            url.path == "/" || url.path.isEmpty, url.fragment == nil, let query = url.query
        else { throw WireError(.malformed, "An activation link is sallyport://HOST:PORT/?ca=…&user=…&key=….") }
        guard let gateway = try? Endpoint(authority, defaultPort: ControlAPI.defaultPort) else {
            throw WireError(.malformed, "The activation link names no HOST:PORT.")
        }
        let parameters = try Self.parameters(of: query)
        try self.init(
            gateway: gateway, authorityFingerprint: Base64URL.decode(parameters["ca"] ?? ""),
            user: parameters["user"] ?? "", accessKey: Redacted(parameters["key"] ?? ""))
    }

    private static func parameters(of query: String) throws(WireError) -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in query.split(separator: "&", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, ["ca", "user", "key"].contains(parts[0]),
                let bytes = PercentCoding.decoded(parts[1]), let value = String(validating: bytes, as: UTF8.self),
                parameters.updateValue(value, forKey: String(parts[0])) == nil
            else { throw WireError(.malformed, "An activation link has ca, user and key, each once.") }
        }
        guard parameters.count == 3 else { throw WireError(.malformed, "An activation link has ca, user and key.") }
        return parameters
    }

    /// The whole link, including the key, for the administrator who passes it on.
    package var text: String {
        func escaped(_ text: String) -> String {
            // `@` is more readable in user names, and allowed in a query.
            PercentCoding.encoded(text, keepsEscapes: false) {
                PercentCoding.isUnreserved($0) || $0 == UInt8(ascii: "@")
            }
        }
        let fingerprint = Base64URL.encode(authorityFingerprint)
        return "sallyport://\(gateway)/?ca=\(fingerprint)&user=\(escaped(user))&key=\(escaped(accessKey.reveal()))"
    }

    /// Without the key.
    package var description: String { "activation at \(gateway) for \(user)" }
}
