import HTTPTypes
import SallyportCore
import SallyportLoading

/// What `fetch --json` prints of one URL.
struct FetchReport: Encodable, Sendable {
    /// The URL that answered, without its query.
    let url: String
    let status: Int
    /// Of the body.
    let bytes: Int64
    let sha256: String
    let file: String?
    let route: String?
    let cluster: String?
    let rule: String?
    /// What the cache did; `off` without `--cache`.
    let cache: String
    /// `HTTP/1.1`, `HTTP/2`.
    let version: String?
    let proxyStatus: String?
    /// Whether the connection had been used before.
    let reused: Bool?
    /// The names of the header fields that redirects did not carry, or that were not sent unencrypted; nil if there are
    /// none.
    let withheld: [String]?
    let seconds: Double

    init(_ response: LoadResponse, bytes: Int64, sha256: String, file: String?, duration: Duration) {
        let connection = response.facts.hops.last?.connection
        url = response.url.redacted
        status = response.head.status.code
        self.bytes = bytes
        self.sha256 = sha256
        self.file = file
        route = response.facts.decision.map { RouteText.kind(of: $0.route) }
        cluster = response.facts.decision.flatMap { RouteText.cluster(of: $0.route) }
        rule = response.facts.decision.map { "\($0.rule)" }
        cache = response.facts.cache?.rawValue ?? "off"
        version = connection?.httpVersion
        proxyStatus = connection?.proxyStatus
        reused = connection?.isReused
        withheld = response.record.flatMap { $0.withheld.isEmpty ? nil : $0.withheld }
        let (whole, atto) = duration.components
        seconds = (Double(whole) * 1000 + Double(atto / 1_000_000_000_000_000)) / 1000
    }
}

extension LoadRecord {
    /// The names of the header fields that were not sent, each once.
    var withheld: [String] {
        decisions.filter { $0.kind == .withheld }.map(\.value).reduce(into: []) { names, name in
            if !names.contains(name) { names.append(name) }
        }
    }
}

/// A route in the two fields that `--json` has for it.
enum RouteText {
    static func kind(of route: Route) -> String {
        switch route {
        case .relay: "relay"
        case .direct: "direct"
        case .deny: "deny"
        }
    }

    static func cluster(of route: Route) -> String? {
        if case .relay(let cluster) = route { cluster } else { nil }
    }
}
