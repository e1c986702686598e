internal import Foundation
internal import SallyportWire

extension InstanceRecord {
    /// A record as `JSONDecoder` would decode it, by ``MemberReader``.
    ///
    /// - Returns: nil if the text is of another form than this version writes, so that `JSONDecoder` must be asked.
    init?(members text: [UInt8]) {
        var reader = MemberReader(text)
        var members = Members()
        guard reader.object({ name, reader in members.read(name, &reader) }), reader.isAtEnd,
            let name = members.name.flatMap(InstanceName.init), let user = members.user, let userID = members.userID,
            let withdrawals = members.withdrawals, let epoch = members.epoch, let stored = members.stored,
            let certificate = members.certificate, let retired = members.retiredSerials,
            let activated = members.activated
        else { return nil }
        self.init(
            name: name, user: user, userID: userID, version: members.version, withdrawals: withdrawals,
            lockReason: members.lockReason, epoch: epoch, stored: stored, certificate: certificate,
            renewed: members.renewed, renewal: members.renewal, retiredSerials: retired, activated: activated,
            lastSeen: members.lastSeen, ended: members.ended, updates: members.updates, announced: members.announced)
    }

    private struct Members {
        var name: String?
        var user: String?
        var userID: UserIdentifier?
        var version: String?
        var withdrawals: Set<Withdrawal>?
        var lockReason: LockReason?
        var epoch: Int64?
        var stored: Int64?
        var certificate: Issued?
        var renewed: Issued?
        var renewal: Renewal?
        var retiredSerials: [String]?
        var activated: Date?
        var lastSeen: Date?
        var ended: Date?
        var updates: Int64?
        var announced: Int64?

        mutating func read(_ member: String, _ reader: inout MemberReader) -> Bool {
            switch member {
            case "name": Self.set(&name, reader.string())
            case "user": Self.set(&user, reader.string())
            case "userID": Self.set(&userID, UserIdentifier(&reader))
            case "version": Self.set(&version, reader.string())
            case "withdrawals": Self.set(&withdrawals, Self.withdrawals(&reader))
            case "lockReason": Self.set(&lockReason, reader.string().flatMap(LockReason.init))
            case "epoch": Self.set(&epoch, reader.integer())
            case "stored": Self.set(&stored, reader.integer())
            case "certificate": Self.set(&certificate, Issued(&reader))
            case "renewed": Self.set(&renewed, Issued(&reader))
            case "renewal": Self.set(&renewal, Renewal(&reader))
            case "retiredSerials": Self.set(&retiredSerials, reader.strings())
            case "activated": Self.set(&activated, reader.date())
            case "lastSeen": Self.set(&lastSeen, reader.date())
            case "ended": Self.set(&ended, reader.date())
            case "updates": Self.set(&updates, reader.integer())
            case "announced": Self.set(&announced, reader.integer())
            // Of a later version.
            default: false
            }
        }

        private static func set<Value>(_ member: inout Value?, _ value: Value?) -> Bool {
            member = value
            return value != nil
        }

        private static func withdrawals(_ reader: inout MemberReader) -> Set<Withdrawal>? {
            guard let texts = reader.strings() else { return nil }
            let values = texts.compactMap(Withdrawal.init)
            return values.count == texts.count ? Set(values) : nil
        }
    }
}

extension InstanceRecord.Issued {
    fileprivate init?(_ reader: inout MemberReader) {
        var (serial, end): (String?, Date?)
        let isRead = reader.object { member, reader in
            switch member {
            case "serial": serial = reader.string()
            case "end": end = reader.date()
            default: return false
            }
            return true
        }
        guard isRead, let serial, let end else { return nil }
        self.init(serial: serial, end: end)
    }
}

extension InstanceRecord.Renewal {
    fileprivate init?(_ reader: inout MemberReader) {
        var (publicKey, certificate, time): (Data?, Data?, Date?)
        let isRead = reader.object { member, reader in
            switch member {
            case "publicKey": publicKey = reader.data()
            case "certificate": certificate = reader.data()
            case "time": time = reader.date()
            default: return false
            }
            return true
        }
        guard isRead, let publicKey, let certificate, let time else { return nil }
        self.init(publicKey: publicKey, certificate: certificate, time: time)
    }
}

extension MemberReader {
    /// As `JSONEncoder` writes it: in base64.
    fileprivate mutating func data() -> Data? { string().flatMap { Data(base64Encoded: $0) } }

    /// As `Date` encodes itself: in seconds since 2001.
    fileprivate mutating func date() -> Date? { double().map(Date.init(timeIntervalSinceReferenceDate:)) }
}
