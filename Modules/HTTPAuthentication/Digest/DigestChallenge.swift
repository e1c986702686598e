/// The value of `qop`: which parts of a message its digest covers (RFC 7616 §3.3).
package enum DigestProtection: String, Sendable, Hashable {
    /// Method and target.
    case auth
    /// The body too.
    case authInt = "auth-int"
}

/// A Digest challenge (RFC 7616 §3.3) that can be answered.
package struct DigestChallenge: Sendable, Hashable {
    /// The longest accepted realm, nonce and `opaque`, in bytes: they are sent back with each request.
    package static let longestValue = 2048
    /// The most URIs of `domain` that are read.
    static let domainLimit = 32

    package let realm: String
    package let nonce: String
    package let opaque: String?
    package let algorithm: DigestAlgorithm
    /// The name as the server wrote it; it is sent back unchanged, and only if the server sent it.
    let algorithmName: String?
    /// `auth` if it is offered, since it needs no hash of the body; nil for a server without `qop` (RFC 2069).
    package let protection: DigestProtection?
    /// Only the nonce had expired: user and password may be right.
    package let isStale: Bool
    /// User names are sent as hashes (§3.4.4).
    let hashesUser: Bool
    /// The server accepts `username*` (§3.4).
    let isUTF8: Bool
    /// The other URIs for which the credential is valid, as the server wrote them.
    let domain: [String]

    /// Nil if it is not a Digest challenge, uses an unknown algorithm or only unknown protections, or has values that
    /// are too long or could not be sent back unchanged.
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
            // A session key includes a client nonce, which RFC 2069 does not have.
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

    /// Whether it is a line of text, which a quoted string can contain.
    private static func isText(_ value: String) -> Bool {
        value.utf8.count <= longestValue && !value.utf8.contains { $0 < 32 || $0 == 127 }
    }

    /// Whether it is printable ASCII: other bytes would have been changed when they were read as text.
    static func isOpaque(_ value: String) -> Bool {
        value.utf8.count <= longestValue && value.utf8.allSatisfy { 32..<127 ~= $0 }
    }
}
