internal import Foundation
internal import HashTreeCollections
internal import SallyportCore
internal import SallyportWire

/// All instances. Persistent: a copy shares what does not change, so that publishing one instance's change costs nothing
/// for all the others.
typealias InstanceTable = TreeDictionary<InstanceIdentifier, InstanceRecord>

/// The data for the relay's decisions: the policy at one moment, without I/O.
///
/// What is computed from the directory, routing tables above all, is kept apart from the instances.
struct RelaySnapshot: Sendable {
    private var instances: InstanceTable
    private let directory: Directory
    /// By entitlement.
    private let rules: [String: ApplicationRules]
    private let clock: @Sendable () -> Date

    init(
        directory: Directory, instances: InstanceTable, clock: @escaping @Sendable () -> Date
    ) {
        self.directory = directory
        self.instances = instances
        self.clock = clock
        rules = Dictionary(
            uniqueKeysWithValues: directory.applications.keys.map { ($0, ApplicationRules(of: $0, in: directory)) })
    }

    /// The same policy for other instances; what was computed from the directory is reused.
    func with(_ instances: InstanceTable) -> RelaySnapshot {
        var copy = self
        copy.instances = instances
        return copy
    }

    /// The decision on a presented certificate.
    struct Judgement {
        let verdict: RelayVerdict
        /// Whether the certificate is the instance's own, whatever the policy says about the target.
        var isAuthentic = true
        /// Whether it is a renewed certificate that was not used before.
        var isNew = false

        /// The certificate is no instance's, or not its own any more.
        static var notAccepted: Judgement {
            Judgement(verdict: RelaySnapshot.denied("The certificate is not accepted."), isAuthentic: false)
        }

        /// An authority of the gateway has issued the certificate, but nothing is known of it here.
        static var unknown: Judgement { Judgement(verdict: .unknown, isAuthentic: false) }
    }

    /// Judges a new tunnel.
    func judge(_ presented: PresentedCertificate, target: Endpoint) -> Judgement {
        guard !presented.isExpired(at: clock()) else { return .notAccepted }
        guard let record = instances[presented.name.instance] else { return .unknown }
        guard record.name == presented.name else { return .notAccepted }
        switch record.standing(of: presented.serial) {
        case .current: return Judgement(verdict: decide(record, target))
        case .renewed: return Judgement(verdict: decide(record, target), isNew: true)
        case .retired: return .notAccepted
        case .unknown: return .unknown
        }
    }

    /// Judges an open tunnel by its instance, not by the certificate with which it was opened, so that a renewal ends
    /// no tunnel.
    func judgeOpen(_ name: InstanceName, target: Endpoint) -> RelayVerdict {
        guard let record = instances[name.instance], record.name == name else {
            return Self.denied("The instance is not known.")
        }
        guard record.mayKeepTunnels(at: clock()) else { return Self.denied("The certificate was not renewed.") }
        return decide(record, target)
    }

    /// The instance that a certificate names, unless either of them was withdrawn, replaced or has expired.
    func instanceInGoodStanding(_ presented: PresentedCertificate) -> String? {
        guard presented.end > clock(), let record = instances[presented.name.instance],
            record.name == presented.name, isActive(record)
        else { return nil }
        switch record.standing(of: presented.serial) {
        case .current, .renewed: return record.name.instance.description
        case .retired, .unknown: return nil
        }
    }

    /// Whether an instance is known and not withdrawn. Its certificate does not count: a renewal takes nothing from it.
    func isInGoodStanding(_ instance: InstanceIdentifier) -> Bool { instances[instance].map { isActive($0) } ?? false }

    private func decide(_ record: InstanceRecord, _ target: Endpoint) -> RelayVerdict {
        guard let rules = rules(for: record) else { return Self.denied("The instance is withdrawn.") }
        let decision = rules.table.decide(target)
        guard case .relay = decision.route else {
            return Self.denied("The policy does not relay to this server: \(decision.rule).")
        }
        let address = Self.isServer(decision.rule) ? rules.address(of: target) : nil
        return .allowed(
            instance: record.name.instance.description, address: address,
            mayBeLocal: address != nil || Self.isListedLocal(target.host, decision.rule), rules: decision.addresses)
    }

    /// Whether a user of this name exists and is the one to whom the instance belongs.
    func isThere(_ name: String, asUserOf instance: InstanceIdentifier) -> Bool {
        guard let user = directory.users[name] else { return false }
        guard let record = instances[instance], record.user == name else { return true }
        return user.id == record.userID
    }

    func record(of instance: InstanceIdentifier) -> InstanceRecord? { instances[instance] }

    func isActive(_ record: InstanceRecord) -> Bool {
        ConfigurationBuilder.status(of: record, entitled: directory.versions(for: record)).status == .active
    }

    /// Nil if the instance may reach nothing.
    private func rules(for record: InstanceRecord) -> ApplicationRules? {
        isActive(record) ? rules[record.name.entitlement.description] : nil
    }

    /// The decision on a name look-up by an instance.
    func judge(_ name: InstanceName, name host: SallyportCore.Host) -> NameVerdict {
        guard let record = instances[name.instance], record.name == name else { return .refused }
        guard let rules = rules(for: record), rules.table.relays(host) else { return .refused }
        return rules.address(of: host).map(NameVerdict.address) ?? .allowed
    }

    private static func isServer(_ rule: RouteDecision.Rule) -> Bool { if case .server = rule { true } else { false } }

    /// An address literal, or `localhost`, that the administrator has listed: if only the default rule matches, the app
    /// may have been misdirected.
    private static func isListedLocal(_ host: SallyportCore.Host, _ rule: RouteDecision.Rule) -> Bool {
        switch host {
        case .address: isServer(rule)
        case .name(let name): name == "localhost" && rule != .default
        }
    }

    private static func denied(_ details: String) -> RelayVerdict {
        .refused(error: ProxyStatus.ErrorType.requestDenied, details: details, status: 403)
    }
}
