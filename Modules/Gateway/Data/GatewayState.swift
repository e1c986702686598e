internal import SallyportCore

/// The state of a gateway at one moment. An immutable class, so that reading it copies only one reference.
final class GatewayState: Sendable {
    /// The policy by which the relay decides.
    let policy: RelaySnapshot
    let authorities: AcceptedAuthorities
    /// The certificate of all listeners, and its key.
    let server: StoredIdentity
    /// The keys with which tokens are signed and verified.
    let tokenKeys: ReadyTokenKeys
    /// The relays on machines of their own, which a control gateway knows.
    let relays: RelayTable

    init(
        policy: RelaySnapshot, authorities: AcceptedAuthorities, server: StoredIdentity, tokenKeys: ReadyTokenKeys,
        relays: RelayTable = RelayTable()
    ) {
        (self.policy, self.authorities, self.server, self.tokenKeys) = (policy, authorities, server, tokenKeys)
        self.relays = relays
    }
}
