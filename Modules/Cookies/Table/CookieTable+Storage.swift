internal import SallyportCore

// What passes between the table and the store.

extension CookieTable {
    /// Takes cookies as they were stored.
    ///
    /// - Parameters:
    ///   - unwanted: the numbers of those that are removed instead.
    ///   - lost: how many could not be read.
    mutating func restore(
        _ records: [CookieRecord], without unwanted: Set<UInt64>, lost: Int, at now: Int64
    ) -> [Effect] {
        var effects: [Effect] = []
        for record in records {
            if unwanted.contains(record.entry.number) {
                effects.append(.removed(record.entry, .expired, of: record.principal))
            } else {
                restore(record.entry, of: record.principal, at: now)
            }
        }
        // Those that could not be read may have any numbers.
        if lost > 0 { lastNumber += 1 << 20 }
        removeExcess(at: now, &effects)
        return effects
    }

    /// Takes a cookie as it was stored, with its number; what the clock has made too long is cut to 400 days.
    private mutating func restore(_ entry: CookieEntry, of principal: Principal, at now: Int64) {
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
