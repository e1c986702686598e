internal import Crypto
internal import Foundation
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire
internal import X509

extension GatewayData {
    var authorityDER: [UInt8] { authority.der }
    /// The present, the announced and the former authorities, DER.
    var authorityDERs: [[UInt8]] { authorities.all }
    var serverIdentity: StoredIdentity { server }
    var name: String { settings.name }

    /// Remembers the ports that the gateway listens on, which links and cluster `main` name, and tells the fleet.
    func listens(controlPort: UInt16, relayPort: UInt16) async throws {
        var settings = settings
        settings.controlPort = controlPort
        settings.relayPort = relayPort
        settings.starts += 1
        settings.id = settings.id ?? GatewayIdentifier()
        try await own.keep(settings)
        self.settings = settings
        tell(.directory)
        try await register()
    }

    /// A server certificate for a foreign relay.
    func issued(host: String, by actor: AuditActor) async throws -> StoredIdentity {
        guard let host = try? Host(host) else { throw GatewayError(.invalid, "HOST is a host name or an address.") }
        let identity = try authority.server(host: host.bareText, now: clock())
        var event = AuditEvent(.administration, by: actor, at: clock(), outcome: "done")
        (event[.gateway], event[.action], event[.target]) = (settings.name, "certificate", host.bareText)
        // Before it is handed out.
        try await store.append(event)
        return identity
    }

    /// Renews the gateway's own certificates after two thirds of their life, once the changes of authorities that are
    /// due were made.
    func renewOwnCertificates() async throws {
        try await moveAuthorities()
        let renewed = try identities.renewed(host: settings.name, under: authorities, at: clock())
        if renewed != identities { try await keep(renewed) }
    }

    /// Creates the next token key if it is due, and drops keys that are no longer needed.
    func renewTokenKeys() async throws {
        let (old, new) = (tokenKeys, tokenKeys.renewed(at: clock()))
        guard new != old else { return }
        try await own.replace(old, with: new)
        tokenKeys = new
        tell(.tokenKeys)
    }
}
