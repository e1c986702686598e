internal import Crypto
internal import Foundation
internal import SallyportWire

/// A digest of a set of rows: the XOR of a keyed hash of each row's key and of a number that grows with the row's
/// changes. So one change is followed without a look at the other rows.
///
/// It lies in sealed bodies only: from a digest that is known, another set of the same digest could be looked for.
struct FleetDigest: Codable, Sendable, Hashable {
    private var bytes: SIMD32<UInt8>

    /// Of the empty set.
    init() { bytes = .zero }

    fileprivate init(_ code: HMAC<SHA256>.MAC) {
        // SAFETY: a code of SHA-256 has 32 bytes.
        bytes = code.withUnsafeBytes { unsafe $0.loadUnaligned(as: SIMD32<UInt8>.self) }
    }

    /// Adds rows that are not in the set, and removes those that are.
    mutating func toggle(_ other: FleetDigest) { bytes ^= other.bytes }
}

/// The hash of a table's rows.
struct FleetRowHash: Sendable {
    private let keyed: HMAC<SHA256>

    fileprivate init(_ key: SymmetricKey) { keyed = HMAC(key: key) }

    /// The set of one row.
    func digest(of row: some CustomStringConvertible, _ number: Int64) -> FleetDigest {
        var code = keyed
        code.update(data: Data("\(row) \(number)".utf8))
        return FleetDigest(code.finalize())
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
