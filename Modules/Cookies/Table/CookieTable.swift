internal import SallyportCore

/// All cookies of a jar, in memory: values and rules, without clock, lock or I/O (RFC 6265bis §5.7, §5.8).
struct CookieTable {
    /// How many cookies are kept (§6.1).
    struct Limits {
        var perDomain = 180
        var inAll = 20_000
    }

    /// The effect of a change, for the store and for observers.
    enum Effect {
        /// A cookie is new, or differs from the one before.
        case set(CookieEntry, replacing: CookieEntry?, of: Principal)
        case removed(CookieEntry, CookieChange.Cause, of: Principal)
        /// It was used again after a day: only the time of its use has changed.
        case touched(CookieEntry, of: Principal)
    }

    var limits = Limits()
    var owners = CookieOwners()
    var count = 0
    var lastNumber: UInt64 = 0
    var lastUse: UInt64 = 0
    /// No cookie expires before this time.
    var nextExpiry = Int64.max
    var lastSweep = Int64.min

    // MARK: Reading

    /// The `Cookie` field of a request; nil if no cookie matches.
    ///
    /// - Parameter effects: the changes to store because of this use.
    mutating func field(
        for request: CookieRequest, of principal: Principal, now clock: () -> Int64, _ effects: inout [Effect]
    ) -> [UInt8]? {
        guard count > 0, let matches = matches(of: request.host, principal) else { return nil }
        let now = clock()
        sweepIfDue(at: now, &effects)
        var found: [CookieEntry] = []
        found.reserveCapacity(2 * matches.count)
        lastUse += 1
        for (place, isExact) in matches {
            take(place, isExact, for: request, of: principal, at: now, into: &found, &effects)
        }
        guard !found.isEmpty else { return nil }
        if matches.count > 1 { found.sort { $0.goesBefore($1) } }
        return Self.joined(found)
    }

    private func matches(of host: Host, _ principal: Principal) -> [(place: Int, isExact: Bool)]? {
        var matches: [(place: Int, isExact: Bool)] = []
        matches.reserveCapacity(4)
        owners[principal]?.forEachMatch(of: host) { place, isExact in
            matches.append((place: place, isExact: isExact))
        }
        return matches.isEmpty ? nil : matches
    }

    private mutating func take(
        _ place: Int, _ isExact: Bool, for request: CookieRequest, of principal: Principal, at now: Int64,
        into found: inout [CookieEntry], _ effects: inout [Effect]
    ) {
        let use = lastUse
        owners[principal]?.withBucket(at: place) { bucket in
            for index in bucket.entries.indices
            where bucket.entries[index].goes(with: request, isExactHost: isExact, at: now) {
                bucket.entries[index].use = use
                bucket.entries[index].accessed = now
                if bucket.entries[index].mustTell(at: now) {
                    bucket.entries[index].writtenAccess = now
                    effects.append(.touched(bucket.entries[index], of: principal))
                }
                found.append(bucket.entries[index])
            }
        }
    }

    private static func joined(_ entries: [CookieEntry]) -> [UInt8] {
        if entries.count == 1 { return entries[0].pair }
        var field: [UInt8] = []
        field.reserveCapacity(entries.reduce(0) { $0 + $1.pair.count + 2 })
        for (index, entry) in entries.enumerated() {
            if index > 0 {
                field.append(UInt8(ascii: ";"))
                field.append(UInt8(ascii: " "))
            }
            field += entry.pair
        }
        return field
    }

    /// All cookies of a principal that have not expired, in the order of creation.
    func all(of principal: Principal, at now: Int64) -> [CookieEntry] {
        let buckets = owners[principal]?.buckets ?? []
        return buckets.flatMap(\.entries).filter { !$0.isExpired(at: now) }.sorted { $0.number < $1.number }
    }

    /// The cookies that a request would include. Does not count as a use.
    func all(for request: CookieRequest, of principal: Principal, at now: Int64) -> [CookieEntry] {
        guard let cookies = owners[principal] else { return [] }
        var found: [CookieEntry] = []
        cookies.forEachMatch(of: request.host) { place, isExact in
            found += cookies.buckets[place].entries.filter { $0.goes(with: request, isExactHost: isExact, at: now) }
        }
        return found.sorted { $0.goesBefore($1) }
    }

    // MARK: Setting

    /// §5.7 steps 16, 23 and 24, and the evictions that follow.
    ///
    /// - Parameter isSecure: whether it came over a secure connection, or from the app.
    mutating func set(
        _ new: CookieEntry, of principal: Principal, isSecure: Bool, at now: Int64, _ effects: inout [Effect]
    ) throws(CookieRefusal) {
        if !new.isSecure, !isSecure, liesOverSecure(new, of: principal, at: now) { throw .overSecure }
        var cookies = owners.take(principal) ?? PrincipalCookies()
        let before = cookies.count
        let place = cookies.ensurePlace(of: new.host)
        cookies.withBucket(at: place) { bucket in
            let old = bucket.entries.firstIndex { $0.isSame(as: new) }.map { bucket.entries.remove(at: $0) }
            if new.isExpired(at: now) {
                if let old { effects.append(.removed(old, .expired, of: principal)) }
            } else {
                let entry = numbered(new, replacing: old)
                effects.append(.set(entry, replacing: old, of: principal))
                bucket.insert(entry)
                bucket.removeExcess(beyond: limits.perDomain, of: principal, at: now, &effects)
            }
        }
        count += cookies.count - before
        owners[principal] = cookies.count == 0 ? nil : cookies
    }

    /// A new cookie with its number: that of the cookie that it replaces, or the next one.
    private mutating func numbered(_ new: CookieEntry, replacing old: CookieEntry?) -> CookieEntry {
        var entry = new
        if let old {
            (entry.created, entry.number) = (old.created, old.number)
        } else {
            lastNumber += 1
            entry.number = lastNumber
        }
        lastUse += 1
        entry.use = lastUse
        entry.writtenAccess = entry.accessed
        nextExpiry = min(nextExpiry, entry.expiry)
        return entry
    }

    /// Step 16: there is a secure cookie with this name, of a domain above or below, whose path the new one would
    /// match.
    private func liesOverSecure(_ new: CookieEntry, of principal: Principal, at now: Int64) -> Bool {
        guard let cookies = owners[principal] else { return false }
        for bucket in cookies.buckets {
            for entry in bucket.entries
            where entry.isSecure && entry.nameLength == new.nameLength && entry.name == new.name
                && !entry.isExpired(at: now) && CookiePath.matches(new.path, entry.path)
                && (DomainMatch.matches(entry.host, new.host) || DomainMatch.matches(new.host, entry.host))
            {
                return true
            }
        }
        return false
    }
}

extension CookieEntry {
    /// Whether its use must be stored: once a day.
    func mustTell(at now: Int64) -> Bool {
        isPersistent && (now &- writtenAccess).magnitude >= 86_400_000
    }
}
