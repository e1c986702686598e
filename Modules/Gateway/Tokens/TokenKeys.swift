internal import Crypto
internal import Foundation
internal import SallyportWire

/// A key that auth tokens are signed with, as it lies in the store, which wraps it as it does the authority's.
struct TokenKeyRecord: Codable, Sendable, Hashable {
    /// `kid`: the key's thumbprint (RFC 7638).
    var id: String
    /// PKCS#8, PEM.
    var key: String
    /// From when it signs. It is published before.
    var begins: Date

    static func create(beginning begins: Date) -> TokenKeyRecord {
        let key = P256.Signing.PrivateKey()
        return TokenKeyRecord(id: JWK(key.publicKey).thumbprint, key: key.pemRepresentation, begins: begins)
    }
}

/// The keys of tokens through time, apart from those of anything else: who signs, who is published, who is due.
struct TokenKeys: Sendable, Hashable {
    /// How long a key signs: 30 days.
    static let period: TimeInterval = 30 * 86_400
    /// How long a new key is published before it signs, so that whoever keeps the published keys has it by then.
    static let lead: TimeInterval = 3600
    /// How long a key stays published after the next one took over: a token's life, and clocks that differ.
    static let overlap: TimeInterval = 3600
    /// For how long the published keys may be kept, in seconds; less than ``lead``.
    static let maximumAge = 600

    /// By ``TokenKeyRecord/begins``.
    private(set) var records: [TokenKeyRecord]

    init(_ records: [TokenKeyRecord]) { self.records = records.sorted { $0.begins < $1.begins } }

    /// The key that signs at a time; the first one where the clock was turned back before all of them.
    func signing(at now: Date) -> TokenKeyRecord? { records.last { $0.begins <= now } ?? records.first }

    /// What holds from now on, the same where nothing is due: a new key where the last one has signed for long
    /// enough, and none that all tokens of are over.
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

/// The keys with which tokens are signed and verified, already parsed. A value.
struct ReadyTokenKeys: Sendable {
    struct Key: Sendable {
        let record: TokenKeyRecord
        let privateKey: P256.Signing.PrivateKey
        var publicKey: P256.Signing.PublicKey { privateKey.publicKey }
    }

    private let keys: TokenKeys
    private let ready: [String: Key]

    init(_ keys: TokenKeys) {
        self.keys = keys
        var ready: [String: Key] = [:]
        for record in keys.records {
            guard let key = try? P256.Signing.PrivateKey(pemRepresentation: record.key) else { continue }
            ready[record.id] = Key(record: record, privateKey: key)
        }
        self.ready = ready
    }

    /// - Throws: `internalFailure` where no key can be read.
    func signing(at now: Date) throws(GatewayError) -> Key {
        guard let key = keys.signing(at: now).flatMap({ ready[$0.id] }) else {
            throw GatewayError(.internalFailure, "There is no key to sign tokens with.")
        }
        return key
    }

    func key(named id: String) -> Key? { ready[id] }

    /// What stands at ``AuthTokenAPI/Path/keys``.
    var published: JWKSet {
        JWKSet(keys.records.compactMap { ready[$0.id] }.map { JWK($0.publicKey, keyID: $0.record.id) })
    }
}
