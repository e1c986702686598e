/// What an administrator asks of the audit trail. Each is an entry of the trail itself.
package enum AuditRequest: Sendable, Hashable, Codable {
    /// Answered with ``AuditAnswer/entries(_:)``: the newest, or those after a number; by time.
    case list(AuditQuery)
    /// Answered with ``AuditAnswer/chains(_:)``: where each chain begins and ends.
    case export
    /// The entries of one chain after a number, by number; at most ``pageLimit``, through the number `last`.
    case page(chain: String, after: Int64, through: Int64)
    /// Answered with ``AuditAnswer/report(_:)``.
    case verify(checkpoint: String?)
    /// Answered with ``AuditAnswer/checkpoint(_:)``.
    case checkpoint

    /// The most entries of one answer.
    package static let pageLimit = 10_000
    /// The greatest length of a checkpoint, in bytes: it names about 10,000 chains. A fleet has at most 4,098, since
    /// each gateway has one, and another one for each relay; the chains of those that are gone stay.
    package static let checkpointLimit = 4 << 20

    var name: String {
        switch self {
        case .list: "audit.list"
        case .export: "audit.export"
        case .page: "audit.page"
        case .verify: "audit.verify"
        case .checkpoint: "audit.checkpoint"
        }
    }
}

/// Which entries are listed.
package struct AuditQuery: Sendable, Hashable, Codable {
    /// Only entries with a greater number, the lowest first; nil for the newest ones.
    package var after: Int64?
    /// Empty for all.
    package var kinds: [AuditKind]
    /// Only entries from this time on, in milliseconds since 1970.
    package var since: Int64?
    /// 1 to ``AuditRequest/pageLimit``.
    package var limit: Int

    package init(after: Int64? = nil, kinds: [AuditKind] = [], since: Int64? = nil, limit: Int = 100) {
        (self.after, self.kinds, self.since, self.limit) = (after, kinds, since, limit)
    }
}

/// The answer to an ``AuditRequest``.
package enum AuditAnswer: Sendable, Hashable, Codable {
    case entries([AuditEntry])
    case chains([AuditReport.Chain])
    case report(AuditReport)
    /// A compact JWS.
    case checkpoint(String)
}
