internal import Crypto
internal import Foundation
internal import SallyportWire

/// A signing key for auth tokens as it is stored, encrypted like the authority's key.
struct TokenKeyRecord: Codable, Sendable, Hashable {
    /// `kid`: the key's thumbprint (RFC 7638).
    var id: String
    /// PKCS#8, PEM.
    var key: String
    /// When it begins to sign. It is published before.
    var begins: Date

    static func create(beginning begins: Date) -> TokenKeyRecord {
        let key = P256.Signing.PrivateKey()
        return TokenKeyRecord(id: JWK(key.publicKey).thumbprint, key: key.pemRepresentation, begins: begins)
    }
}

/// The token keys over time, separate from all other keys: the signing key, the published keys, the next key.
struct TokenKeys: Sendable, Hashable {
    /// How long a key signs: 30 days.
    static let period: TimeInterval = 30 * 86_400
    /// How long a new key is published before it signs, so that verifiers that cache the published keys have it by
    /// then.
    static let lead: TimeInterval = 3600
    /// How long a key stays published after its successor took over: a token's life, and differences between clocks.
    static let overlap: TimeInterval = 3600
    /// How long the published keys may be cached, in seconds; less than ``lead``.
    static let maximumAge = 600

    /// By ``TokenKeyRecord/begins``.
    private(set) var records: [TokenKeyRecord]

    init(_ records: [TokenKeyRecord]) { self.records = records.sorted { $0.begins < $1.begins } }

    /// The key that signs at a time; the first one if the clock was set back before all of them.
    func signing(at now: Date) -> TokenKeyRecord? { records.last { $0.begins <= now } ?? records.first }

    /// The keys from now on, unchanged if nothing is due: with a new key if the last one has signed long enough, and
    /// without keys whose tokens have all expired.
    func renewed(at now: Date) -> TokenKeys {
        var renewed = records
        if let last = records.last {
            if now.timeIntervalSince(last.begins) >= Self.period - Self.lead {
                renewed.append(.create(beginning: now + Self.lead))
            }
        } else {
            renewed = [.create(beginning: now)]
        }
        let replaced = zip(renewed, renewed.dropFirst()).filter { $1.begins + Self.overlap < now }
        return TokenKeys(Array(renewed.dropFirst(replaced.count)))
    }
}

/// The keys with which tokens are signed, and those of the whole fleet with which they are verified, already parsed. A
/// value.
struct ReadyTokenKeys: Sendable {
    struct Key: Sendable {
        let record: TokenKeyRecord
        let privateKey: P256.Signing.PrivateKey
    }

    private let keys: TokenKeys
    private let ready: [String: Key]
    /// This gateway's first, in the order in which they sign.
    private let verifying: [(id: String, key: P256.Signing.PublicKey)]

    /// - Parameter others: of the fleet's other gateways. A key of this gateway's counts instead of another's that has
    ///   its name.
    init(_ keys: TokenKeys, besides others: [PublicTokenKey] = []) {
        self.keys = keys
        var ready: [String: Key] = [:]
        for record in keys.records {
            guard let key = try? P256.Signing.PrivateKey(pemRepresentation: record.key) else { continue }
            ready[record.id] = Key(record: record, privateKey: key)
        }
        self.ready = ready
        var verifying = keys.records.compactMap { record in
            ready[record.id].map { (record.id, $0.privateKey.publicKey) }
        }
        for other in others where !verifying.contains(where: { $0.0 == other.id }) {
            if let key = other.key { verifying.append((other.id, key)) }
        }
        self.verifying = verifying.map { (id: $0.0, key: $0.1) }
    }

    /// - Throws: `internalFailure` if no key can be read.
    func signing(at now: Date) throws(GatewayError) -> Key {
        guard let key = keys.signing(at: now).flatMap({ ready[$0.id] }) else {
            throw GatewayError(.internalFailure, "There is no key for signing tokens.")
        }
        return key
    }

    /// The key, of whichever gateway of the fleet, that verifies tokens of this `kid`.
    func verifying(named id: String) -> P256.Signing.PublicKey? { verifying.first { $0.id == id }?.key }

    /// This gateway's keys, for the others.
    var own: [PublicTokenKey] {
        keys.records.compactMap { ready[$0.id] }.map { PublicTokenKey($0.record.id, $0.privateKey.publicKey) }
    }

    /// The document at ``AuthTokenAPI/Path/keys``.
    var published: JWKSet { JWKSet(verifying.map { JWK($0.key, keyID: $0.id) }) }
}
