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

    /// Remembers the ports that the gateway listens on, which links and cluster `main` name.
    func listens(controlPort: UInt16, relayPort: UInt16) async throws {
        var settings = settings
        settings.controlPort = controlPort
        settings.relayPort = relayPort
        settings.starts += 1
        try await store.write { [collections, settings] in
            try $0.set(settings, for: "gateway", in: collections.settings)
        }
        self.settings = settings
        tell(.directory)
    }

    /// A server certificate for a foreign relay.
    func issued(host: String) throws(GatewayError) -> StoredIdentity {
        guard let host = try? Host(host) else { throw GatewayError(.invalid, "HOST is a host name or an address.") }
        return try authority.server(host: host.bareText, now: clock())
    }

    /// Renews the gateway's own certificates after two thirds of their life, once the changes of authorities that are
    /// due were made.
    func renewOwnCertificates() async throws {
        try await moveAuthorities()
        guard !isKeepingIdentities else { return }
        let now = clock()
        let isServerDue = Self.isDue(server, now)
        let isSignerDue = Self.isDue(signer, now)
        guard isServerDue || isSignerDue else { return }
        let newServer = isServerDue ? try authority.server(host: settings.name, now: now) : server
        let newSigner = isSignerDue ? try authority.signer(generation: authorities.record.signers, now: now) : signer
        try await keep(authorities.record, server: newServer, signer: newSigner)
    }

    /// Creates the next token key if it is due, and drops keys that are no longer needed.
    func renewTokenKeys() async throws {
        let (old, new) = (tokenKeys, tokenKeys.renewed(at: clock()))
        guard new != old else { return }
        let dropped = old.records.filter { !new.records.contains($0) }
        try await store.write { [collections] transaction in
            for record in new.records { try transaction.set(record, for: record.id, in: collections.tokenKeys) }
            for record in dropped { try transaction.remove(record.id, from: collections.tokenKeys) }
        }
        tokenKeys = new
        tell(.tokenKeys)
    }

    private static func isDue(_ identity: StoredIdentity, _ now: Date) -> Bool {
        guard let start = CertificateAuthority.start(ofDER: identity.certificate),
            let end = CertificateAuthority.end(ofDER: identity.certificate)
        else { return true }
        return now.timeIntervalSince(start) > end.timeIntervalSince(start) * 2 / 3
    }
}
