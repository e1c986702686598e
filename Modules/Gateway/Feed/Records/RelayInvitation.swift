internal import Crypto
internal import Foundation
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire
internal import SwiftASN1
internal import X509

/// What a machine that is to be a relay asks a gateway of the fleet for: carried there by the administrator. It is no
/// secret, and names no key but public ones.
struct RelayRequest: Sendable, Hashable, Codable {
    static let prefix = "sallyport-relay:"

    /// The host name at which apps will reach it.
    var name: String
    var cluster: String
    var certificates: RelayCertificateRequest

    var text: String {
        get throws { try Self.prefix + Base64URL.encode(Array(FeedCoding.encoder.encode(self))) }
    }

    init(_ pending: RelayPending) throws {
        (name, cluster) = (pending.name, pending.cluster)
        certificates = try pending.keys.request(named: pending.name)
    }

    init(_ text: String) throws(GatewayError) {
        guard text.hasPrefix(Self.prefix), text.utf8.count <= 16 << 10,
            let bytes = try? Base64URL.decode(text.utf8.dropFirst(Self.prefix.utf8.count)),
            let request = try? FeedCoding.decoder.decode(RelayRequest.self, from: Data(bytes))
        else {
            throw GatewayError(.invalid, "This is no request of a relay: `gateway join --role relay` prints one.")
        }
        self = request
    }
}

/// A gateway's answer to a ``RelayRequest``. Without the request's private keys, which never leave the relay, it is of no
/// use; so it is no secret either.
struct RelayInvitation: Sendable, Hashable, Codable {
    static let prefix = "sallyport-relay-invitation:"

    var id: RelayIdentifier
    var certificates: RelayCertificates
    /// HOST:PORT of the control gateways.
    var controls: [String]

    var text: String {
        get throws { try Self.prefix + Base64URL.encode(Array(FeedCoding.encoder.encode(self))) }
    }

    init(id: RelayIdentifier, certificates: RelayCertificates, controls: [String]) {
        (self.id, self.certificates, self.controls) = (id, certificates, controls)
    }

    init(_ text: String) throws(GatewayError) {
        guard text.hasPrefix(Self.prefix), text.utf8.count <= 64 << 10,
            let bytes = try? Base64URL.decode(text.utf8.dropFirst(Self.prefix.utf8.count)),
            let invitation = try? FeedCoding.decoder.decode(RelayInvitation.self, from: Data(bytes))
        else {
            throw GatewayError(.invalid, "This is no invitation of a relay: `gateway invite` prints one.")
        }
        self = invitation
    }
}

/// A relay's two keys, both P-256: for the feed, and for its listener.
struct RelayKeys: Sendable, Hashable, Codable {
    /// PEM.
    let client: String
    let server: String

    init() {
        client = P256.Signing.PrivateKey().pemRepresentation
        server = P256.Signing.PrivateKey().pemRepresentation
    }

    func request(named name: String) throws -> RelayCertificateRequest {
        RelayCertificateRequest(
            client: try Self.request(name, client), server: try Self.request(name, server))
    }

    private static func request(_ name: String, _ key: String) throws -> Data {
        let request = try CertificateSigningRequest(
            version: .v1, subject: DistinguishedName { CommonName(name) },
            privateKey: .init(P256.Signing.PrivateKey(pemRepresentation: key)), attributes: .init(),
            signatureAlgorithm: .ecdsaWithSHA256)
        var serializer = DER.Serializer()
        try serializer.serialize(request)
        return Data(serializer.serializedBytes)
    }

    /// - Throws: `invalid` if the certificates are for other keys.
    func identities(_ certificates: RelayCertificates) throws -> (client: StoredIdentity, server: StoredIdentity) {
        (try Self.identity(certificates.client, client), try Self.identity(certificates.server, server))
    }

    private static func identity(_ certificate: Data, _ key: String) throws -> StoredIdentity {
        let identity = StoredIdentity(certificate: Array(certificate), key: key)
        let parsed = try identity.parsed()
        guard parsed.certificate.publicKey == Certificate.PublicKey(parsed.key.publicKey) else {
            throw GatewayError(.invalid, "The invitation is for the request of another relay.")
        }
        return identity
    }
}

/// A request that is not answered yet, with its keys.
struct RelayPending: Sendable, Hashable, Codable {
    let name: String
    let cluster: String
    var keys = RelayKeys()
}
