internal import Crypto
internal import Foundation
internal import SallyportWire

/// A digest of a set of rows: the XOR of a keyed hash of each row's key and of a number that grows with the row's
/// changes. So one change is followed without a look at the other rows.
///
/// It lies in sealed bodies only: from a digest that is known, another set of the same digest could be looked for.
struct FleetDigest: Codable, Sendable, Hashable {
    private var bytes: [UInt8]

    /// Of the empty set.
    init() { bytes = Array(repeating: 0, count: SHA256.byteCount) }

    fileprivate init(_ code: HMAC<SHA256>.MAC) { bytes = Array(code) }

    /// Adds rows that are not in the set, and removes those that are.
    mutating func toggle(_ other: FleetDigest) {
        for (index, byte) in zip(bytes.indices, other.bytes) { bytes[index] ^= byte }
    }
}

/// The hash of a table's rows.
struct FleetRowHash: Sendable {
    private let key: SymmetricKey

    fileprivate init(_ key: SymmetricKey) { self.key = key }

    /// The set of one row.
    func digest(of row: some CustomStringConvertible, _ number: Int64) -> FleetDigest {
        FleetDigest(HMAC<SHA256>.authenticationCode(for: Data("\(row) \(number)".utf8), using: key))
    }

    func digest(of record: InstanceRecord) -> FleetDigest { digest(of: record.name.instance, record.announcement) }

    func digest(of records: [InstanceRecord]) -> FleetDigest {
        var all = FleetDigest()
        for record in records { all.toggle(digest(of: record)) }
        return all
    }

    func digest(of gateways: [Revised<GatewayRecord>]) -> FleetDigest {
        var all = FleetDigest()
        for gateway in gateways { all.toggle(digest(of: gateway.value.id, gateway.revision)) }
        return all
    }
}

extension FleetKey {
    var instanceHash: FleetRowHash { FleetRowHash(key(of: "instance rows")) }
    var gatewayHash: FleetRowHash { FleetRowHash(key(of: "gateway rows")) }
}
