internal import Crypto
internal import Foundation
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// What a gateway must know to take part in a fleet. It lies in the gateway's own store.
struct FleetMembership: Codable, Sendable, Hashable {
    /// Of the database, as its driver reads it; may contain a password.
    let url: String
    let key: [UInt8]

    /// The fleet's key for people, to keep in a safe place: with it and the database, a new gateway can be made if all
    /// gateways are lost.
    var recoveryKey: Redacted<String> { Redacted(Base64URL.encode(key)) }
}

/// The public part of a gateway that asks to join a fleet: printed by the gateway, and carried to one that is in the
/// fleet by the administrator. It is no secret.
struct JoinRequest: Sendable {
    static let prefix = "sallyport-join:"

    let key: P256.KeyAgreement.PublicKey

    var text: String { Self.prefix + Base64URL.encode(Array(key.x963Representation)) }

    init(of key: P256.KeyAgreement.PrivateKey) { self.key = key.publicKey }

    init(_ text: String) throws(GatewayError) {
        guard text.hasPrefix(Self.prefix),
            let bytes = try? Base64URL.decode(text.utf8.dropFirst(Self.prefix.utf8.count)),
            let key = try? P256.KeyAgreement.PublicKey(x963Representation: bytes)
        else { throw GatewayError(.invalid, "This is no request to join a fleet: `gateway join` prints one.") }
        self.key = key
    }
}

/// A membership, sealed to the key of one request (HPKE, RFC 9180, base mode): only the gateway that made the request
/// can use it.
enum Invitation {
    static let prefix = "sallyport-invitation:"
    private static var purpose: Data { Data("sallyport fleet invitation".utf8) }
    private static let suite = HPKE.Ciphersuite.P256_SHA256_AES_GCM_256

    static func text(of membership: FleetMembership, for request: JoinRequest) throws -> String {
        var sender = try HPKE.Sender(recipientKey: request.key, ciphersuite: suite, info: purpose)
        let sealed = try sender.seal(JSONEncoder().encode(membership))
        return prefix + Base64URL.encode(Array(sender.encapsulatedKey)) + "." + Base64URL.encode(Array(sealed))
    }

    static func open(_ text: String, with key: P256.KeyAgreement.PrivateKey) throws(GatewayError) -> FleetMembership {
        let parts = text.dropFirst(prefix.count).split(separator: ".")
        guard text.hasPrefix(prefix), parts.count == 2, let encapsulated = try? Base64URL.decode(parts[0].utf8),
            let sealed = try? Base64URL.decode(parts[1].utf8)
        else {
            throw GatewayError(.invalid, "This is no invitation to a fleet: `gateway invite` prints one.")
        }
        do {
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: suite, info: purpose, encapsulatedKey: Data(encapsulated))
            return try JSONDecoder().decode(FleetMembership.self, from: recipient.open(Data(sealed)))
        } catch {
            throw GatewayError(
                .invalid, "The invitation is for the request of another gateway, or was changed on its way.")
        }
    }
}
