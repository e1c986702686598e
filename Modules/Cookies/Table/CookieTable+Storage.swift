internal import SallyportCore

// Exchange between the table and the store.

extension CookieTable {
    /// Restores stored cookies.
    ///
    /// - Parameters:
    ///   - unwanted: the numbers of the cookies to remove instead.
    ///   - lost: the number of unreadable cookies.
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
        // Unreadable cookies may have any number.
        if lost > 0 { lastNumber += 1 << 20 }
        removeExcess(at: now, &effects)
        return effects
    }

    /// Restores a stored cookie with its number; if the clock was set back, its remaining life is reduced to 400 days.
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

    /// The cookies whose last use is not in the store yet.
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
