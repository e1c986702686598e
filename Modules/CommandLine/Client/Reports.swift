/// What `activate` prints.
struct ActivationReport: Encodable, Sendable {
    let instance: String
    let entitlement: String
    let version: String
    let user: String
    let state: String
}

/// What `status` prints.
struct StatusReport: Encodable, Sendable {
    /// `notAuthorized`, `authorized`, `locked` or `wiped`.
    let state: String
    /// The documented code; 0 where there is none.
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
    /// `server HOST:PORT`, `domain NAME` or `default`.
    let rule: String
    /// Where there is more to say: a port that the rule does not open, a withdrawn authorization.
    let note: String?

    var text: String {
        let way = cluster.map { "\(route):\($0)" } ?? route
        return "\(url): \(way) (\(rule)\(note.map { "; \($0)" } ?? ""))"
    }
}
