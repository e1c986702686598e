internal import SallyportCore

/// What holds at a gateway at one moment. Immutable, and a class, so that reading it costs one reference.
final class GatewayState: Sendable {
    /// What the relay decides with.
    let policy: RelaySnapshot
    let authorities: Authorities
    /// The certificate that all listeners show, and its key.
    let server: StoredIdentity
    /// What tokens are signed and verified with.
    let tokenKeys: ReadyTokenKeys

    init(policy: RelaySnapshot, authorities: Authorities, server: StoredIdentity, tokenKeys: ReadyTokenKeys) {
        (self.policy, self.authorities, self.server, self.tokenKeys) = (policy, authorities, server, tokenKeys)
    }
}
