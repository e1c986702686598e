internal import Crypto
internal import SallyportCore
internal import SallyportWire

/// The input of a configuration: everything as it was at one moment.
struct ConfigurationOrder: Sendable {
    let builder: ConfigurationBuilder
    let version: EntitlementVersion?
    /// Increases with each change of what instances share.
    let revision: UInt64
    let signer: StoredIdentity
}

/// Makes and signs configurations outside of the gateway data's actor.
///
/// What the instances of an application share is encoded once after each change; this actor keeps two requests at the
/// same time from encoding it twice. The rest, and the signature, is made on the thread of each request.
actor ConfigurationMaker {
    private struct Key {
        let certificate: [UInt8]
        let key: P256.Signing.PrivateKey
    }

    private var revision: UInt64 = 0
    /// The shared members by entitlement.
    private var members: [String: ConfigurationDocument.SharedMembers] = [:]
    private var key: Key?
    /// The number of times that shared members were encoded.
    private(set) var encodings = 0

    /// Makes the signed configuration.
    @concurrent
    nonisolated func text(_ order: ConfigurationOrder) async throws -> String {
        let key = try await key(of: order.signer)
        let document = try order.builder.document(version: order.version)
        let payload: [UInt8]
        if ConfigurationBuilder.isWhole(document) {
            payload = try document.serialized(with: await shared(order))
        } else {
            payload = try document.serialized()
        }
        return try JWS.sign(
            payload, header: JWS.Header(type: ConfigurationDocument.type, certificates: [order.signer.certificate]),
            with: key)
    }

    private func shared(_ order: ConfigurationOrder) throws -> ConfigurationDocument.SharedMembers {
        let entitlement = order.builder.record.name.entitlement.description
        if order.revision == revision, let members = members[entitlement] { return members }
        let made = try order.builder.sharedDocument().sharedMembers()
        encodings += 1
        // The policy changed while this order waited, so its result is not kept.
        guard order.revision >= revision else { return made }
        if order.revision > revision { members = [:] }
        revision = order.revision
        members[entitlement] = made
        return made
    }

    private func key(of signer: StoredIdentity) throws -> P256.Signing.PrivateKey {
        if let key, key.certificate == signer.certificate { return key.key }
        let parsed = try signer.parsed().key
        key = Key(certificate: signer.certificate, key: parsed)
        return parsed
    }
}
