internal import Foundation
internal import SallyportCore
internal import SallyportWire

/// Issues and verifies auth tokens. Works on snapshots, so that signing waits for nothing.
struct TokenService: Sendable {
    /// By how many seconds a token may be of the future: the clocks of a fleet's gateways differ, and a token that one
    /// of them has just issued is verified by another.
    static let beginsLeeway: Int64 = 30

    let current: CurrentState

    /// Issues a token for an admitted instance.
    ///
    /// - Parameter settings: the source of `iss`.
    /// - Throws: `forbidden` for a withdrawn instance; `invalid` for a challenge, a server name or a thumbprint that a
    ///   token cannot contain.
    func issue(
        _ request: AuthTokenAPI.Request, to record: InstanceRecord, by settings: GatewaySettings
    ) throws -> AuthTokenAPI.Answer {
        guard request.isValid else {
            throw GatewayError(
                .invalid, "A challenge is up to 256 ASCII letters and digits, a server up to 255 visible characters.")
        }
        let now = current.clock()
        let seconds = Int64(now.timeIntervalSince1970)
        let claims = AuthTokenClaims(
            issuer: "https://\(settings.name):\(settings.controlPort)", user: record.user, server: request.server,
            challenge: request.challenge, issuedAt: seconds, expires: seconds + AuthTokenClaims.lifetime,
            identifier: UUID().uuidString.lowercased(), entitlement: record.name.entitlement,
            instance: record.name.instance, keyThumbprint: request.jkt)
        let state = current.value
        guard state.policy.standing(of: claims) == .valid else {
            throw GatewayError(.forbidden, "The instance is withdrawn.")
        }
        let key = try state.tokenKeys.signing(at: now)
        let token = try SignedAuthToken.sign(claims, with: key.privateKey, keyID: key.record.id)
        return AuthTokenAPI.Answer(token: token, expires: claims.expires)
    }

    /// Verifies a token. This does not use it up.
    ///
    /// - Returns: the result, with the claims if a gateway of the fleet signed them.
    func verify(_ token: String) -> (verdict: AuthTokenAPI.Verdict, claims: AuthTokenClaims?) {
        let state = current.value
        guard let signed = try? SignedAuthToken(Array(token.utf8)),
            let key = state.tokenKeys.verifying(named: signed.keyID),
            let claims = try? signed.claims(signedWith: key)
        else { return (.malformed, nil) }
        let now = Int64(current.clock().timeIntervalSince1970)
        guard now < claims.expires else { return (.expired, claims) }
        guard claims.begins <= now + Self.beginsLeeway else { return (.notYetValid, claims) }
        return (state.policy.standing(of: claims), claims)
    }
}

extension TokenService {
    /// As ``verify(_:)``, but before a token is refused because its instance or user is not known here, the fleet is
    /// followed: another gateway may have just made them, and app servers take the refusal for a final one.
    ///
    /// - Throws: `unreachable` if the fleet cannot be followed now.
    func judge(
        _ token: String
    ) async throws(GatewayError) -> (verdict: AuthTokenAPI.Verdict, claims: AuthTokenClaims?) {
        let first = verify(token)
        guard let claims = first.claims, first.verdict == .withdrawn || first.verdict == .userRemoved,
            !current.value.policy.knows(claims)
        else { return first }
        guard await current.catchUp() else {
            throw GatewayError(
                .unreachable, "The token's instance or user is not known here, and the fleet cannot be followed.")
        }
        return verify(token)
    }
}

extension RelaySnapshot {
    /// Whether there are the token's instance and user, whatever their status.
    fileprivate func knows(_ claims: AuthTokenClaims) -> Bool {
        isThere(claims.user, asUserOf: claims.instance) && record(of: claims.instance) != nil
    }

    /// The status of the token's user and instance: the user first, since without a user the instance is withdrawn too.
    func standing(of claims: AuthTokenClaims) -> AuthTokenAPI.Verdict {
        guard isThere(claims.user, asUserOf: claims.instance) else { return .userRemoved }
        guard let record = record(of: claims.instance), record.user == claims.user,
            record.name.entitlement == claims.entitlement, isActive(record)
        else { return .withdrawn }
        return .valid
    }
}
