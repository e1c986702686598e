internal import Crypto
internal import Foundation
internal import SallyportCore
internal import SallyportWire

/// Identifies a gateway within its fleet: a UUID in lower case, made when the gateway first listens.
struct GatewayIdentifier: Sendable, Hashable, TextCodable {
    let description: String

    init() { description = UUID().uuidString.lowercased() }

    init?(_ text: String) {
        guard let value = UUID(uuidString: text) else { return nil }
        description = value.uuidString.lowercased()
    }
}

/// A gateway of the fleet, as all its gateways know it. A change of it has a revision.
struct GatewayRecord: Codable, Sendable, Hashable {
    /// The most gateways of a fleet.
    static let limit = ConfigurationDocument.Limits.gateways

    var id: GatewayIdentifier
    var name: String
    /// Where apps find it.
    var control: Endpoint
    /// Where apps find its relay; nil if its role has none.
    var relay: Endpoint?
    /// The keys that verify its tokens.
    var tokenKeys: [PublicTokenKey]

    private enum CodingKeys: String, CodingKey { case id, name, control, relay, tokenKeys }

    init(id: GatewayIdentifier, name: String, control: Endpoint, relay: Endpoint?, tokenKeys: [PublicTokenKey]) {
        (self.id, self.name, self.control, self.relay, self.tokenKeys) = (id, name, control, relay, tokenKeys)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(GatewayIdentifier.self, forKey: .id)
        name = try container.decode(String.self, forKey: .name)
        control = try Endpoint(container.decode(String.self, forKey: .control))
        relay = try container.decodeIfPresent(String.self, forKey: .relay).map { try Endpoint($0) }
        tokenKeys = try container.decode([PublicTokenKey].self, forKey: .tokenKeys)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(name, forKey: .name)
        try container.encode(control.description, forKey: .control)
        try container.encodeIfPresent(relay?.description, forKey: .relay)
        try container.encode(tokenKeys, forKey: .tokenKeys)
    }
}

/// What a fleet's other gateways need of a token key.
struct PublicTokenKey: Codable, Sendable, Hashable {
    /// `kid`.
    var id: String
    /// X and Y, 32 bytes each.
    var point: [UInt8]

    init(_ id: String, _ key: P256.Signing.PublicKey) { (self.id, point) = (id, Array(key.rawRepresentation)) }

    var key: P256.Signing.PublicKey? { try? P256.Signing.PublicKey(rawRepresentation: point) }
}

/// When a gateway was there, which has no revision: it changes every few seconds.
struct GatewayPresence: Codable, Sendable, Hashable {
    var seen: Date
    /// The revision of the store that the gateway has reached.
    var applied: Int64
    /// When it ended in order; nil while it runs, and if it ended otherwise.
    var ended: Date?
}

struct ListedGateway: Sendable, Hashable {
    let record: GatewayRecord
    let presence: GatewayPresence

    /// How long a gateway that runs may not have shown itself: three of its heartbeats.
    static let patience: TimeInterval = 30

    func isRunning(at now: Date) -> Bool {
        presence.ended == nil && now.timeIntervalSince(presence.seen) < Self.patience
    }
}
