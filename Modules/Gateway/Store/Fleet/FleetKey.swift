internal import Crypto
internal import Foundation

/// The key of a fleet, with which every gateway of it seals what lies in the database: the database's owner can deny
/// service, but can neither read nor grant anything.
///
/// AES-256-GCM with a key for each table, derived by HKDF-SHA-256. Each body is bound to its table and to its row, so that
/// it opens nowhere else.
struct FleetKey: Sendable {
    static let length = 32

    private let secret: SymmetricKey
    /// Derived once: a fleet may have a row for each of many instances.
    private let instance: SymmetricKey
    private let holders: SymmetricKey

    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        secret = SymmetricKey(data: bytes)
        instance = Self.derived("instance", from: secret)
        holders = Self.derived(Self.holderIndex, from: secret)
    }

    static func generate() -> [UInt8] {
        SymmetricKey(size: .bits256).withUnsafeBytes { unsafe Array($0) }
    }

    func key(of table: String) -> SymmetricKey {
        switch table {
        case "instance": instance
        case Self.holderIndex: holders
        default: Self.derived(table, from: secret)
        }
    }

    private static let holderIndex = "holder index"

    private static func derived(_ table: String, from secret: SymmetricKey) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, info: Data("sallyport fleet \(table)".utf8), outputByteCount: Self.length)
    }

    /// What a body is bound to, beside its table.
    private func place(_ row: String) -> Data { Data(row.utf8) }

    func seal(_ value: some Encodable, table: String, row: String) throws -> FleetValue {
        let sealed = try AES.GCM.seal(
            JSONEncoder().encode(value), using: key(of: table), authenticating: place(row))
        guard let bytes = sealed.combined else { throw GatewayError(.internalFailure, "A record could not be sealed.") }
        return .bytes(Array(bytes))
    }

    /// - Throws: `store` if the body was not sealed with this key for this row.
    func open<Value: Decodable>(_ body: [UInt8], table: String, row: String) throws(GatewayError) -> Value {
        try open(body, table: table, row: row) { try JSONDecoder().decode(Value.self, from: $0) }
    }

    /// The record of an instance, which is read by ``MemberReader`` if it is of this version.
    func openInstance(_ body: [UInt8], row: String) throws(GatewayError) -> InstanceRecord {
        try open(body, table: "instance", row: row) { text in
            try InstanceRecord(members: Array(text)) ?? JSONDecoder().decode(InstanceRecord.self, from: text)
        }
    }

    private func open<Value>(
        _ body: [UInt8], table: String, row: String, _ read: (Data) throws -> Value
    ) throws(GatewayError) -> Value {
        do {
            let box = try AES.GCM.SealedBox(combined: Data(body))
            return try read(AES.GCM.open(box, using: key(of: table), authenticating: place(row)))
        } catch {
            throw GatewayError(
                .store, "A record of table \(table) in the database does not verify: it is not one of this fleet's.",
                underlying: error)
        }
    }

    /// What stands for a text in an index, without telling it.
    func digest(_ text: String, table: String) -> FleetValue {
        .bytes(Array(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key(of: "\(table) index"))))
    }
}
