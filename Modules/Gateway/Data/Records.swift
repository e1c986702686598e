internal import Foundation
internal import SallyportCore
internal import SallyportWire

/// One activated installation, as it is stored.
struct InstanceRecord: Codable, Sendable, Hashable {
    /// The administrator's withdrawal; the most severe one counts. `denied`: the user lost the last version of the
    /// application.
    enum Withdrawal: String, Codable, Sendable { case blocked, locked, denied, wiped }

    /// A lock's reason that has a result code of its own.
    enum LockReason: String, Codable, Sendable {
        case idle, passwordChange

        var code: ResultCode {
            switch self {
            case .idle: .idleLockout
            case .passwordChange: .passwordChangeRequired
            }
        }
    }

    /// A certificate issued to the instance.
    struct Issued: Codable, Sendable, Hashable {
        var serial: String
        var end: Date
    }

    /// The last renewal, so that an app which asks two gateways at once gets one certificate.
    struct Renewal: Codable, Sendable, Hashable {
        /// SHA-256 of the public key that it is for.
        var publicKey: Data
        /// DER.
        var certificate: Data
        var time: Date
    }

    var name: InstanceName
    /// The user's name, for display and for tokens.
    var user: String
    /// The user's identifier. A later user of the same name has no right to this instance.
    var userID: UserIdentifier
    /// The version that it last requested.
    var version: String?
    var withdrawals: Set<Withdrawal> = []
    /// Why it is locked, if for another reason than the administrator's own; nil in data of older versions.
    var lockReason: LockReason?
    /// The newest epoch of a configuration that was signed for it; a store may keep a higher one, up to which epochs
    /// are reserved.
    var epoch: Int64 = 0
    /// The epoch of the newest configuration that the instance has reported as stored; 0 before the first report.
    var stored: Int64 = 0
    /// The certificate in use; the renewed one below was issued and not used yet.
    var certificate: Issued
    var renewed: Issued?
    /// The newest renewal. Only the store's transactions need it, so gateways do not keep it in memory. Nil in data of
    /// older versions.
    var renewal: Renewal?
    /// Replaced serial numbers: the use of one of these shows a copied store.
    var retiredSerials: [String] = []
    var activated: Date
    /// The instance's last contact when the record was written; ``ContactLedger`` has later ones.
    var lastSeen: Date?
    /// When the instance was wiped or denied. That is final: a later grant is for other instances.
    private(set) var ended: Date?
    /// Counts the changes of the record; nil, as in data of older versions, counts as 0.
    private(set) var updates: Int64?
    /// The number of the update that was announced last; nil counts as that of all. A store of a fleet has it beside the
    /// record, since a gateway of an older version would drop it.
    var announced: Int64?

    var withdrawal: Withdrawal? {
        [.wiped, .denied, .locked, .blocked].first(where: withdrawals.contains)
    }

    var grant: Grant { Grant(user: userID, entitlement: name.entitlement.description) }

    /// The record once its user's right has ended: the instance is wiped if the user was removed, denied if the user has
    /// lost the application.
    func ended(under new: Directory, at now: Date) -> InstanceRecord {
        var record = self
        record.end(new.user(named: user, userID) == nil ? .wiped : .denied, at: now)
        record.countUpdate(isAnnounced: true)
        return record
    }

    /// Ends the instance for good. A denied one may still be wiped.
    mutating func end(_ withdrawal: Withdrawal, at now: Date) {
        withdrawals.insert(withdrawal)
        ended = ended ?? now
    }

    /// Only the last serial numbers are remembered; an older one is refused as unknown, without locking.
    static let retiredLimit = 64
    /// How long a wiped or denied instance still gets its status: 30 days.
    static let answeredAfterEnd: TimeInterval = 30 * 86_400
}

extension InstanceRecord.Issued {
    init(_ der: [UInt8]) {
        self.init(
            serial: CertificateAuthority.serial(ofDER: der), end: CertificateAuthority.end(ofDER: der) ?? .distantPast)
    }
}

extension InstanceRecord {
    /// The status of a serial number for an instance.
    enum Standing {
        case current, renewed, retired, unknown

        var isAccepted: Bool { self == .current || self == .renewed }

        /// - Throws: `unauthorized` for an unknown serial number, `retired` for one that was replaced.
        func checkAccepted() throws(GatewayError) {
            switch self {
            case .current, .renewed: return
            case .retired: throw GatewayError(.retired, "The certificate was replaced by a renewed one.")
            case .unknown: throw GatewayError(.unauthorized, "The certificate is not known here.")
            }
        }
    }

    func standing(of serial: String) -> Standing {
        if serial == certificate.serial { return .current }
        if serial == renewed?.serial { return .renewed }
        return retiredSerials.contains(serial) ? .retired : .unknown
    }

    /// The renewed certificate was used: the previous one is retired.
    mutating func adopt(_ serial: String) {
        guard let renewed, serial == renewed.serial else { return }
        retiredSerials = Array(([certificate.serial] + retiredSerials).prefix(Self.retiredLimit))
        certificate = renewed
        self.renewed = nil
    }

    /// The certificate that was issued for the same public key a moment ago, used since or not. A request that shows
    /// this very certificate asks for another one.
    private func certificate(repeating publicKey: Data, presenting serial: String, at now: Date) -> [UInt8]? {
        guard let renewal, renewal.publicKey == publicKey,
            now.timeIntervalSince(renewal.time) < AccessKeyRecord.repeatInterval
        else { return nil }
        let der = Array(renewal.certificate)
        let issued = CertificateAuthority.serial(ofDER: der)
        return issued != serial && standing(of: issued).isAccepted ? der : nil
    }

    /// Renews the certificate for an app that shows the one with this serial number, which is in use now.
    ///
    /// - Parameters:
    ///   - publicKey: SHA-256 of the public key that the new one is for.
    ///   - isEntitled: whether the user has a right to the application.
    ///   - issue: makes a certificate, DER. It is asked only once it is decided that the instance gets one.
    /// - Returns: the certificate in force for the key, DER.
    /// - Throws: `retired` for a certificate that was replaced by one for another key, `unauthorized` for an unknown
    ///   one, `forbidden` for an instance that is withdrawn.
    mutating func renew(
        for publicKey: Data, presenting serial: String, isEntitled: Bool, at now: Date, _ issue: () throws -> [UInt8]
    ) throws -> [UInt8] {
        let earlier = self.certificate(repeating: publicKey, presenting: serial, at: now)
        if earlier == nil { try standing(of: serial).checkAccepted() }
        guard ended == nil, isEntitled else { throw GatewayError(.forbidden, "The instance is withdrawn.") }
        if let earlier { return earlier }
        let issued = try issue()
        adopt(serial)
        renewed = Issued(issued)
        renewal = Renewal(publicKey: publicKey, certificate: Data(issued), time: now)
        return issued
    }

    /// A store calls this with each change that it keeps.
    mutating func countUpdate(isAnnounced: Bool) {
        let before = announcement
        let now = (updates ?? 0) + 1
        (updates, announced) = (now, isAnnounced ? now : before)
    }

    /// The number of the update that was announced last: it grows with each change that others must hear of.
    var announcement: Int64 { announced ?? updates ?? 0 }

    /// Whether the record contains every change that another record of the same instance contains.
    func isAsNew(as other: InstanceRecord) -> Bool { updates ?? 0 >= other.updates ?? 0 }

    /// Whether relays and other gateways must hear of a change. They need not for what only the instance reports, except
    /// for its version, by which they judge it too.
    func isAnnounced(after old: InstanceRecord) -> Bool {
        var unreported = self
        unreported.epoch = old.epoch
        unreported.stored = old.stored
        unreported.lastSeen = old.lastSeen
        unreported.updates = old.updates
        unreported.announced = old.announced
        return unreported != old
    }

    static func unknown(_ id: InstanceIdentifier) -> GatewayError {
        GatewayError(.notFound, "No instance \(id): `admin instances` shows them.")
    }

    /// Whether the instance's certificates allow its open tunnels to stay: whichever certificate they were opened with,
    /// as long as the instance may still renew the one that it uses.
    func mayKeepTunnels(at now: Date) -> Bool {
        now < certificate.end.addingTimeInterval(CertificateAuthority.Lifetime.renewalGrace)
    }
}

/// A single-use access key, under the digest of user and key.
struct AccessKeyRecord: Codable, Sendable, Hashable {
    static let lifetime: TimeInterval = 24 * 3600
    /// How long the same public key gets its certificate again.
    static let repeatInterval: TimeInterval = 600
    /// How long the record is kept, whether the key was used or not: until then a late use is told why it is refused.
    static let memory: TimeInterval = 30 * 86_400

    struct Use: Codable, Sendable, Hashable {
        /// SHA-256 of the public key that used it.
        var publicKey: [UInt8]
        var instance: InstanceName
        var certificate: [UInt8]
        var time: Date
    }

    /// The identifier for administrators; the key itself is only in the link.
    var id = AccessKeyIdentifier()
    /// The user's name, for display.
    var user: String
    var userID: UserIdentifier
    var entitlement: EntitlementIdentifier
    var issued: Date
    var use: Use?

    var grant: Grant { Grant(user: userID, entitlement: entitlement.description) }
    var expires: Date { issued.addingTimeInterval(Self.lifetime) }
}

extension AccessKeyRecord {
    static var refusal: GatewayError { GatewayError(.unauthorized, "User and access key are not accepted.") }
    static var wasUsed: GatewayError { GatewayError(.keyUsed, "The access key was used already.") }

    /// The use that came before, if the same public key made it.
    ///
    /// - Throws: `keyUsed` if another public key made it.
    func earlier(than new: Use) throws(GatewayError) -> Use? {
        guard let use else { return nil }
        guard use.publicKey == new.publicKey else { throw Self.wasUsed }
        return use
    }

    /// What an attempt to use the key would find.
    enum Standing: String { case unused, used, expired }

    func standing(at now: Date) -> Standing {
        if use != nil { return .used }
        return now < expires ? .unused : .expired
    }

    /// Whether a request with the public key that used this access key gets its certificate again.
    func repeats(_ publicKey: [UInt8], at now: Date) -> Bool {
        guard let use else { return false }
        return use.publicKey == publicKey && now.timeIntervalSince(use.time) < Self.repeatInterval
    }
}

/// A gateway's settings, created by `gateway init`.
struct GatewaySettings: Codable, Sendable {
    /// The name in its certificate and in activation links.
    var name: String
    var controlPort: UInt16
    var relayPort: UInt16
    /// The first event id; it increases with each start, so that ids never repeat.
    var starts: UInt64 = 0
    /// Made when it first listens; nil before.
    var id: GatewayIdentifier?
}
