/// What `qop` says: how much of a message its digest covers (RFC 7616 §3.3).
package enum DigestProtection: String, Sendable, Hashable {
    /// Method and target.
    case auth
    /// The body too.
    case authInt = "auth-int"
}

/// A challenge of Digest (RFC 7616 §3.3) that can be answered.
package struct DigestChallenge: Sendable, Hashable {
    /// The longest realm, nonce and `opaque` that are taken, in bytes: they are sent back with each request.
    package static let longestValue = 2048
    /// The most URIs of `domain` that are looked at.
    static let domainLimit = 32

    package let realm: String
    package let nonce: String
    package let opaque: String?
    package let algorithm: DigestAlgorithm
    /// As the server wrote it; it is said back so, and only where it was said.
    let algorithmName: String?
    /// `auth` wherever it is offered, since it costs no hash of the body; nil for a server that knows no `qop` (RFC 2069).
    package let protection: DigestProtection?
    /// Only the nonce was too old: user and password may be right.
    package let isStale: Bool
    /// Names of users are sent as hashes (§3.4.4).
    let hashesUser: Bool
    /// The server takes `username*` (§3.4).
    let isUTF8: Bool
    /// Where else the credential holds, as the server wrote it.
    let domain: [String]

    /// Nil for what is no such challenge, what uses an unknown algorithm or only unknown protections, and for values
    /// that are too long or could not be sent back unchanged.
    package init?(_ offered: OfferedScheme) {
        let parameters = offered.parameters
        guard offered.name == "digest", offered.token68 == nil,
            let realm = parameters["realm"], Self.isText(realm),
            let nonce = parameters["nonce"], !nonce.isEmpty, Self.isOpaque(nonce),
            parameters["opaque"].map(Self.isOpaque) ?? true,
            let algorithm = DigestAlgorithm(parameters["algorithm"])
        else { return nil }
        if let offers = parameters["qop"] {
            guard let protection = Self.protection(of: offers) else { return nil }
            self.protection = protection
        } else {
            // A session's key is made of a nonce of the client's, which RFC 2069 has not.
            guard !algorithm.isSession else { return nil }
            protection = nil
        }
        self.realm = realm
        self.nonce = nonce
        self.algorithm = algorithm
        opaque = parameters["opaque"]
        algorithmName = parameters["algorithm"]
        isStale = parameters["stale"]?.lowercased() == "true"
        hashesUser = parameters["userhash"]?.lowercased() == "true"
        isUTF8 = parameters["charset"]?.lowercased() == "utf-8"
        let uris = parameters["domain"]?.split(separator: " ", maxSplits: Self.domainLimit) ?? []
        domain = uris.prefix(Self.domainLimit).map(String.init)
    }

    private static func protection(of offers: String) -> DigestProtection? {
        let offered = offers.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
            .compactMap { DigestProtection(rawValue: String($0)) }
        return offered.contains(.auth) ? .auth : offered.first
    }

    /// A line of text, which a quoted string can hold.
    private static func isText(_ value: String) -> Bool {
        value.utf8.count <= longestValue && !value.utf8.contains { $0 < 32 || $0 == 127 }
    }

    /// Printable ASCII: what was not is not what the server sent any more once it was read as text.
    static func isOpaque(_ value: String) -> Bool {
        value.utf8.count <= longestValue && value.utf8.allSatisfy { 32..<127 ~= $0 }
    }
}
