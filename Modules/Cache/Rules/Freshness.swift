internal import HTTPTypes

/// How long an answer may be used, and how old it is (RFC 9111 §4.2).
struct Freshness: Sendable, Hashable {
    /// In seconds, from the time at which the server created the answer.
    var lifetime: Int64
    /// Whether the server said so; otherwise it is a heuristic (§4.2.2).
    var isExplicit: Bool

    /// The heuristic is a tenth of the time since the last change, but at most this.
    static let longestGuess: Int64 = 24 * 60 * 60

    /// Statuses whose answers may be reused heuristically (RFC 9110 §15.1).
    static func allowsGuess(_ status: HTTPResponse.Status) -> Bool {
        [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status.code)
    }

    init(of head: HTTPResponse, _ control: CacheControl, received: CacheTime) {
        let fields = head.headerFields
        if let maxAge = control.maxAge {
            self.init(lifetime: maxAge, isExplicit: true)
        } else if let expires = Self.expiry(in: fields, received: received) {
            let date = Self.date(of: fields, received: received)
            self.init(lifetime: expires.seconds(since: date), isExplicit: true)
        } else if Self.allowsGuess(head.status) || control.isPublic {
            self.init(lifetime: Self.guess(fields, received), isExplicit: false)
        } else {
            self.init(lifetime: 0, isExplicit: false)
        }
    }

    init(lifetime: Int64, isExplicit: Bool) {
        self.lifetime = lifetime
        self.isExplicit = isExplicit
    }

    /// When the server created the answer; without a `Date` field, when it was received (RFC 9110 §6.6.1).
    static func date(of fields: HTTPFields, received: CacheTime) -> CacheTime {
        fields[values: .date].first.flatMap { HTTPDate.parse($0, now: received) } ?? received
    }

    /// Nil without the field. An invalid date counts as past (§5.3), and of several dates the earliest counts.
    private static func expiry(in fields: HTTPFields, received: CacheTime) -> CacheTime? {
        guard fields.contains(.expires) else { return nil }
        let times = fields[values: .expires].map {
            HTTPDate.parse($0, now: received) ?? CacheTime(milliseconds: .min)
        }
        return times.min()
    }

    private static func guess(_ fields: HTTPFields, _ received: CacheTime) -> Int64 {
        let date = date(of: fields, received: received)
        guard let text = fields[.lastModified], let modified = HTTPDate.parse(text, now: received), modified < date
        else { return 0 }
        return min(longestGuess, date.seconds(since: modified) / 10)
    }
}

/// The age of an answer (RFC 9111 §4.2.3).
struct Age: Sendable, Hashable {
    let received: CacheTime
    /// The age when the answer was received, in seconds.
    let initial: Int64

    init(of fields: HTTPFields, requested: CacheTime, received: CacheTime) {
        let apparent = received.seconds(since: Freshness.date(of: fields, received: received))
        let corrected = Self.value(in: fields).clampedSum(received.seconds(since: requested))
        self.init(initial: max(apparent, corrected), received: received)
    }

    init(initial: Int64, received: CacheTime) {
        self.initial = initial
        self.received = received
    }

    /// In seconds; nil if the clock was set back to before the answer came, so that the age is unknown.
    func seconds(at now: CacheTime) -> Int64? {
        guard now.milliseconds >= received.milliseconds - 1000 else { return nil }
        return min(CacheControl.longest, initial.clampedSum(now.seconds(since: received)))
    }

    /// The age that caches on the way report. In a list the first member is used; if that is not a number, the field is
    /// ignored (§5.1).
    private static func value(in fields: HTTPFields) -> Int64 {
        guard let first = fields[values: .age].first else { return 0 }
        let member = first.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
        return CacheControl.seconds(String(member).trimmed) ?? 0
    }
}
