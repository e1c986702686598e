/// The auth token service, shared by both sides: paths, fields, bodies and results.
package enum AuthTokenAPI {
    package enum Path {
        /// Needs a client certificate. ``Request`` by POST.
        package static let issue = "/v1/auth-tokens"
        /// No client certificate. Verifies a token, by GET.
        package static let verify = "/verifyGDAuthToken"
        /// No client certificate. The public keys of the tokens' signatures (RFC 7517).
        package static let keys = "/.well-known/jwks.json"
    }

    /// The names of the fields; a request has ``token``, a response the others.
    package enum Field {
        package static let token = "X-Good-GD-AuthToken"
        package static let code = "X-Good-GD-AuthResponseCode"
        package static let version = "X-Good-GD-AuthTokenVersion"
        package static let user = "X-Good-GD-UserID"
        package static let server = "X-Good-GD-Server"
        package static let challenge = "X-Good-GD-AuthChallenge"
        package static let entitlement = "X-Good-GD-AppID"
        package static let instance = "X-Good-GD-ContainerID"
        package static let created = "X-Good-GD-AuthTokenCreationTime"
        /// Proof of a key (RFC 9449 §4.1), sent along with ``token`` to app servers.
        package static let proof = "DPoP"
    }

    /// The value of ``Field/version``.
    package static let version = "2"

    package enum MediaType {
        /// RFC 7517 §8.5.1.
        package static let keys = "application/jwk-set+json"
    }

    package enum Limits {
        /// The longest body of a request for a token, in bytes.
        package static let request = 4096
        /// The longest body of the response, in bytes.
        package static let answer = 16 << 10
    }

    /// The fields of the service's response for a valid token, with the names and spellings that app servers expect.
    package static func told(of claims: AuthTokenClaims) -> [(field: String, value: String)] {
        [
            (Field.user, claims.user), (Field.server, claims.server), (Field.challenge, claims.challenge),
            (Field.entitlement, claims.entitlement.description), (Field.instance, claims.instance.description),
            (Field.created, "\(claims.issuedAt)"),
        ]
    }

    /// The body of a request for a token.
    package struct Request: Sendable, Hashable, Codable {
        package var challenge: String
        package var server: String
        /// The thumbprint of the key to which the token is bound; nil for a bearer token.
        package var jkt: String?

        package init(challenge: String, server: String, jkt: String? = nil) {
            self.challenge = challenge
            self.server = server
            self.jkt = jkt
        }

        /// Whether each member fits into a token.
        package var isValid: Bool {
            AuthTokenClaims.isChallenge(challenge) && AuthTokenClaims.isServerName(server)
                && jkt.map(AuthTokenClaims.isThumbprint) ?? true
        }
    }

    package struct Answer: Sendable, Hashable, Codable {
        package var token: String
        /// Unix seconds.
        package var expires: Int64

        package init(token: String, expires: Int64) {
            self.token = token
            self.expires = expires
        }
    }

    /// The service's result for a token: 100 for a valid one (Docs/AuthTokens.md, "The gateway").
    package enum Verdict: Int, Sendable, Hashable, CaseIterable {
        case valid = 100
        /// No token, an unknown key, another algorithm, a wrong signature: one result for all.
        case malformed = 400
        case expired = 401
        case notYetValid = 402
        /// The instance is blocked, locked, wiped, denied or unknown.
        case withdrawn = 403
        case userRemoved = 404

        /// The value of ``Field/code``.
        package var text: String {
            switch self {
            case .valid: "100 OK"
            case .malformed: "400 Malformed"
            case .expired: "401 Expired"
            case .notYetValid: "402 Not Yet Valid"
            case .withdrawn: "403 Instance Withdrawn"
            case .userRemoved: "404 User Removed"
            }
        }

        /// Reads the number at the start of a ``Field/code`` value.
        package init?(fieldValue: String) {
            guard let number = fieldValue.split(separator: " ").first.flatMap({ Int($0) }) else { return nil }
            self.init(rawValue: number)
        }
    }
}
