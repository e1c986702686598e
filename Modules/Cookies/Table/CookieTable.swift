internal import SallyportCore

/// All cookies of a jar, in memory: values and their rules, without clock, lock or I/O (RFC 6265bis §5.7, §5.8).
struct CookieTable {
    /// How many cookies are kept (§6.1).
    struct Limits {
        var perDomain = 180
        var inAll = 20_000
    }

    /// What a change did, for the store and for those who follow.
    enum Effect {
        /// A cookie is new, or another than before.
        case set(CookieEntry, replacing: CookieEntry?, of: Principal)
        case removed(CookieEntry, CookieChange.Cause, of: Principal)
        /// It was sent again after a day: only the time of its use is another.
        case touched(CookieEntry, of: Principal)
    }

    var limits = Limits()
    private(set) var owners = CookieOwners()
    private(set) var count = 0
    private var lastNumber: UInt64 = 0
    private var lastUse: UInt64 = 0
    /// No cookie expires before.
    private var nextExpiry = Int64.max
    private var lastSweep = Int64.min

    // MARK: Reading

    /// What goes with a request, ready to be sent; nil where nothing does.
    ///
    /// - Parameter effects: what the store may hear of the use.
    mutating func field(
        for request: CookieRequest, of principal: Principal, now clock: () -> Int64, _ effects: inout [Effect]
    ) -> [UInt8]? {
        guard count > 0, let matches = matches(of: request.host, principal) else { return nil }
        let now = clock()
        sweepIfDue(at: now, &effects)
        var found: [CookieEntry] = []
        lastUse += 1
        for (place, isExact) in matches {
            take(place, isExact, for: request, of: principal, at: now, into: &found, &effects)
        }
        guard !found.isEmpty else { return nil }
        if matches.count > 1 { found.sort { $0.goesBefore($1) } }
        return Self.joined(found)
    }

    private func matches(of host: Host, _ principal: Principal) -> [(place: Int, isExact: Bool)]? {
        var matches: [(Int, Bool)] = []
        owners[principal]?.forEachMatch(of: host) { place, isExact in matches.append((place, isExact)) }
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
            if index > 0 { field += [UInt8(ascii: ";"), UInt8(ascii: " ")] }
            field += entry.pair
        }
        return field
    }

    /// All cookies of a principal that have not expired, in the order of creation.
    func all(of principal: Principal, at now: Int64) -> [CookieEntry] {
        let buckets = owners[principal]?.buckets ?? []
        return buckets.flatMap(\.entries).filter { !$0.isExpired(at: now) }.sorted { $0.number < $1.number }
    }

    /// What would go with a request; nobody's last use changes.
    func all(for request: CookieRequest, of principal: Principal, at now: Int64) -> [CookieEntry] {
        guard let cookies = owners[principal] else { return [] }
        var found: [CookieEntry] = []
        cookies.forEachMatch(of: request.host) { place, isExact in
            found += cookies.buckets[place].entries.filter { $0.goes(with: request, isExactHost: isExact, at: now) }
        }
        return found.sorted { $0.goesBefore($1) }
    }

    // MARK: Setting

    /// §5.7 steps 16, 23 and 24, and what is evicted for it.
    ///
    /// - Parameter isSecure: whether it came over a secure connection, or from the app.
    mutating func set(
        _ new: CookieEntry, of principal: Principal, isSecure: Bool, at now: Int64, _ effects: inout [Effect]
    ) throws(CookieRefusal) {
        if !new.isSecure, !isSecure, liesOverSecure(new, of: principal, at: now) { throw .overSecure }
        var entry = new
        var cookies = owners.take(principal) ?? PrincipalCookies()
        defer { owners[principal] = cookies.count == 0 ? nil : cookies }
        let before = cookies.count
        defer { count += cookies.count - before }
        let place = cookies.ensurePlace(of: entry.host)
        let old = cookies.withBucket(at: place) { bucket -> CookieEntry? in
            bucket.entries.firstIndex { $0.isSame(as: new) }.map { bucket.entries.remove(at: $0) }
        }
        guard !entry.isExpired(at: now) else {
            if let old { effects.append(.removed(old, .expired, of: principal)) }
            return
        }
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
        effects.append(.set(entry, replacing: old, of: principal))
        cookies.withBucket(at: place) { bucket in
            bucket.insert(entry)
            while bucket.entries.count > limits.perDomain {
                let victim = bucket.entries.remove(at: Self.victim(in: bucket.entries, at: now))
                effects.append(.removed(victim, victim.isExpired(at: now) ? .expired : .evicted, of: principal))
            }
        }
    }

    /// Step 16: a secure cookie of the name, of a domain above or below, whose path the new one's would reach.
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

    /// "Remove excess cookies": expired ones, then insecure ones, then all; of each the least lately used.
    private static func victim(in entries: [CookieEntry], at now: Int64) -> Int {
        func rank(_ entry: CookieEntry) -> (Int, UInt64) {
            (entry.isExpired(at: now) ? 0 : entry.isSecure ? 2 : 1, entry.use)
        }
        return entries.indices.min { rank(entries[$0]) < rank(entries[$1]) } ?? 0
    }

    /// Where there are too many in all: those of the principal that has most, the least lately used of them, a
    /// twentieth at once. So a flood drives out its own principal's cookies before another's.
    mutating func removeExcess(at now: Int64, _ effects: inout [Effect]) {
        guard count > limits.inAll else { return }
        sweep(at: now, &effects)
        while count > limits.inAll, let largest = owners.largest {
            let wanted = max(1, count - limits.inAll + limits.inAll / 20)
            let uses = owners[largest]?.buckets.flatMap(\.entries).map(\.use).sorted() ?? []
            guard let last = uses.prefix(wanted).last else { return }
            remove(of: largest, because: .evicted, &effects) { $0.use <= last }
        }
    }

    // MARK: Removing

    /// - Parameter principal: all of them where nil.
    mutating func remove(
        of principal: Principal?, because cause: CookieChange.Cause, _ effects: inout [Effect],
        where isUnwanted: (CookieEntry) -> Bool
    ) {
        for key in principal.map({ [$0] }) ?? owners.all {
            guard var cookies = owners.take(key) else { continue }
            let removed = cookies.remove(where: isUnwanted)
            count -= removed.count
            if cookies.count > 0 { owners[key] = cookies }
            effects += removed.map { .removed($0, cause, of: key) }
        }
    }

    /// Overwrites names and values in memory, before the table is let go of. Copies that requests and apps hold stay.
    mutating func overwrite() {
        for principal in owners.all {
            guard var cookies = owners.take(principal) else { continue }
            for place in cookies.buckets.indices {
                cookies.withBucket(at: place) { bucket in
                    for index in bucket.entries.indices { bucket.entries[index].overwrite() }
                }
            }
            owners[principal] = cookies
        }
    }

    /// Removes all that have expired, at most once a second.
    private mutating func sweepIfDue(at now: Int64, _ effects: inout [Effect]) {
        guard now >= nextExpiry, now >= lastSweep + 1000 || now < lastSweep else { return }
        sweep(at: now, &effects)
    }

    mutating func sweep(at now: Int64, _ effects: inout [Effect]) {
        lastSweep = now
        remove(of: nil, because: .expired, &effects) { $0.isExpired(at: now) }
        nextExpiry = .max
        for bucket in owners.all.compactMap({ owners[$0]?.buckets }).joined() {
            for entry in bucket.entries { nextExpiry = min(nextExpiry, entry.expiry) }
        }
    }

    // MARK: Stored cookies

    /// Takes a cookie as it was stored, with its number; what the clock has made too long is cut to 400 days.
    mutating func restore(_ entry: CookieEntry, of principal: Principal, at now: Int64) {
        var entry = entry
        entry.expiry = min(entry.expiry, now + CookieRules.longestLife)
        entry.writtenAccess = entry.accessed
        var cookies = owners.take(principal) ?? PrincipalCookies()
        let place = cookies.ensurePlace(of: entry.host)
        cookies.withBucket(at: place) { $0.insert(entry) }
        owners[principal] = cookies
        count += 1
        lastNumber = max(lastNumber, entry.number)
        lastUse = max(lastUse, entry.use)
        nextExpiry = min(nextExpiry, entry.expiry)
    }

    /// Leaves out numbers that cookies may have which could not be read.
    mutating func skipNumbers(_ amount: UInt64) { lastNumber += amount }

    /// The cookies whose last use the store does not know yet.
    mutating func takeUnwrittenUses() -> [Effect] {
        var effects: [Effect] = []
        for principal in owners.all {
            guard var cookies = owners.take(principal) else { continue }
            for place in cookies.buckets.indices {
                cookies.withBucket(at: place) { bucket in
                    for index in bucket.entries.indices
                    where bucket.entries[index].isPersistent
                        && bucket.entries[index].writtenAccess != bucket.entries[index].accessed
                    {
                        bucket.entries[index].writtenAccess = bucket.entries[index].accessed
                        effects.append(.touched(bucket.entries[index], of: principal))
                    }
                }
            }
            owners[principal] = cookies
        }
        return effects
    }
}

extension CookieEntry {
    /// Whether the store hears of its use: once a day.
    func mustTell(at now: Int64) -> Bool {
        isPersistent && (now - writtenAccess).magnitude >= 86_400_000
    }
}
