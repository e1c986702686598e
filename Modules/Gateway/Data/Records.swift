internal import Foundation
internal import SallyportWire

/// One activated installation, as the gateway keeps it.
struct InstanceRecord: Codable, Sendable, Hashable {
    /// What the administrator did, the gravest counting.
    enum Withdrawal: String, Codable, Sendable { case blocked, locked, wiped }

    var name: InstanceName
    var user: String
    /// What it last asked for.
    var version: String?
    var withdrawals: Set<Withdrawal> = []
    /// Of the last configuration that was signed for it.
    var epoch: Int64 = 0
    /// The serial number that is in use, and the one issued by a renewal and not used yet.
    var serial: String
    var nextSerial: String?
    /// Replaced serial numbers: the use of one of these shows a copied store.
    var retiredSerials: [String] = []
    var activated: Date
    var lastSeen: Date?
    /// When it was wiped, or its user lost the last version of the application.
    var ended: Date?

    var withdrawal: Withdrawal? {
        [.wiped, .locked, .blocked].first(where: withdrawals.contains)
    }

    /// Only the last serial numbers are remembered; an older one is refused as unknown, without locking.
    static let retiredLimit = 64
    /// How long a wiped or denied instance is still told so: 30 days.
    static let answeredAfterEnd: TimeInterval = 30 * 86_400
}

extension InstanceRecord {
    /// What a serial number is to an instance.
    enum Standing { case current, renewed, retired, unknown }

    func standing(of serial: String) -> Standing {
        if serial == self.serial { return .current }
        if serial == nextSerial { return .renewed }
        return retiredSerials.contains(serial) ? .retired : .unknown
    }

    /// The renewed certificate was used: the one before retires.
    mutating func adopt(_ renewed: String) {
        guard renewed == nextSerial else { return }
        retiredSerials = Array(([serial] + retiredSerials).prefix(Self.retiredLimit))
        serial = renewed
        nextSerial = nil
    }
}

/// A single-use access key, under the SHA-256 of its text.
struct AccessKeyRecord: Codable, Sendable, Hashable {
    static let lifetime: TimeInterval = 24 * 3600
    /// How long the same public key gets its certificate again.
    static let repeatInterval: TimeInterval = 600

    struct Use: Codable, Sendable, Hashable {
        /// SHA-256 of the public key that used it.
        var publicKey: [UInt8]
        var instance: InstanceName
        var certificate: [UInt8]
        var time: Date
    }

    var user: String
    var entitlement: EntitlementIdentifier
    var issued: Date
    var use: Use?
}

/// What a gateway is: made by `gateway init`.
struct GatewaySettings: Codable, Sendable {
    /// The name in its certificate and in activation links.
    var name: String
    var controlPort: UInt16
    var relayPort: UInt16
    /// The event id that the gateway starts with rises with each start, so that ids never repeat.
    var starts: UInt64 = 0
}
