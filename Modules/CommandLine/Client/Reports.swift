import FoundationEssentials
import SallyportAuthorization
import SallyportConnecting
import SallyportCore
import SallyportTransport

/// What `activate` prints.
struct ActivationReport: Encodable, Sendable {
    let instance: String
    let entitlement: String
    let version: String?
    let user: String
    let state: String

    init(_ activation: Activation) {
        instance = activation.instance
        entitlement = activation.entitlement
        version = activation.version
        user = activation.user
        state = activation.state.name
    }

    var text: String { "activated \(entitlement)\(version.map { " \($0)" } ?? "") as \(instance)" }
}

/// What `status` prints.
struct StatusReport: Encodable, Sendable {
    /// `notAuthorized`, `authorized`, `locked` or `wiped`.
    let state: String
    /// The result code; 0 if there is none.
    let code: Int
    let codeName: String
    let epoch: Int64?
    /// RFC 3339.
    let leaseEnd: String?
    let instance: String?
    let entitlement: String?
    let version: String?
    let user: String?
    let gateway: String?

    init(_ stored: StoredAuthorization) {
        state = stored.state.name
        code = stored.code.rawValue
        codeName = stored.code.name
        epoch = stored.epoch
        leaseEnd = stored.leaseEnd.map { Date(timeIntervalSince1970: Double($0)).formatted(.iso8601) }
        instance = stored.instance
        entitlement = stored.entitlement
        version = stored.version
        user = stored.user
        gateway = stored.gateway
    }

    var text: String {
        let lines: [(String, String?)] = [
            ("state", state), ("code", code == 0 ? nil : "\(codeName) (\(code))"), ("instance", instance),
            ("app", entitlement.map { "\($0) \(version ?? "")" }), ("user", user), ("gateway", gateway),
            ("epoch", epoch.map { "\($0)" }), ("lease until", leaseEnd),
        ]
        return lines.compactMap { name, value in value.map { "\(name): \(OneLine.of($0))" } }.joined(separator: "\n")
    }
}

/// What `explain` prints.
struct ExplanationReport: Encodable, Sendable {
    let url: String
    /// `relay`, `direct` or `deny`.
    let route: String
    /// Of the relay route.
    let cluster: String?
    /// The cluster that stands in while no relay of the first can be reached.
    let secondary: String?
    /// The server that a name without a domain stands for, HOST:PORT.
    let completed: String?
    /// `server HOST:PORT`, `domain NAME` or `default`.
    let rule: String
    /// The TLS versions that the server is offered, such as `TLS1.2`; nil for plain http, and if no route leads there.
    let tls: [String]?
    /// Further facts, such as a port that the rule does not open, or a withdrawn authorization.
    let note: String?
    /// The whole explanation in words.
    let text: String

    init(_ explanation: Explanation, under stored: StoredAuthorization) {
        url = explanation.url
        route = explanation.route
        cluster = explanation.cluster
        secondary = explanation.secondary
        completed = explanation.completed
        rule = explanation.rule
        note = stored.code == .none ? nil : "authorization is withdrawn: \(stored.code)"
        tls = Self.versions(offeredTo: explanation.url, under: stored)
        let offer = tls.map { "offered: \($0.joined(separator: ", "))" }
        text = [explanation.text, offer, note].compactMap(\.self).joined(separator: "; ")
    }

    /// Decided by a connector as in an app, without a connection.
    private static func versions(offeredTo url: String, under stored: StoredAuthorization) -> [String]? {
        guard let url = try? RequestURL(url), url.isSecure, let policy = stored.contact?.policy,
            let endpoint = url.endpoint.map(policy.completed)
        else { return nil }
        let connector = Connector(gate: StoredGate(policy: policy))
        let way = try? connector.way(to: endpoint, isSecure: true, with: ConnectionSettings(scope: .diagnostics))
        return way?.versionNames
    }
}
