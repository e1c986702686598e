internal import Crypto
internal import Foundation

extension Apache {
    package static let realm = "the vault"

    /// With mod_auth_digest: below `/vault/` and `/short/` it asks for the user.
    ///
    /// - Parameters:
    ///   - user: the one user.
    ///   - lifetime: how long a nonce of `/short/` is taken, in seconds.
    package static func withDigest(user: (name: String, password: String), lifetime: Int = 1) async throws -> Apache {
        let key = Insecure.MD5.hash(data: Data("\(user.name):\(realm):\(user.password)".utf8))
        let digits = key.map { String(format: "%02x", $0) }.joined()
        return try await start(
            Settings(
                modules: ["authn_file", "auth_digest"], pages: ["vault", "short"],
                files: ["users": "\(user.name):\(realm):\(digits)\n"]
            ) { path in
                location("vault", path, "AuthDigestDomain /vault/")
                    + location("short", path, "AuthDigestNonceLifetime \(lifetime)")
            })
    }

    private static func location(_ name: String, _ path: String, _ settings: String) -> String {
        """
        <Location /\(name)/>
            AuthType Digest
            AuthName "\(realm)"
            AuthDigestProvider file
            AuthUserFile \(path)/users
            \(settings)
            Require valid-user
        </Location>

        """
    }
}
