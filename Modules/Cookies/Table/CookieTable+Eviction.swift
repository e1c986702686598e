internal import SallyportCore

// What is evicted, and in which order (RFC 6265bis §5.7).

extension CookieTable {
    /// If the jar is full, evicts the least recently used cookies of the principal that has the most, a twentieth at
    /// once. So a flood of cookies evicts its own principal's cookies first.
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

    /// - Parameter principal: nil for all principals.
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

    /// Removes the cookies that principals would send to hosts.
    mutating func remove(sentTo places: [Principal: Set<Host>], _ effects: inout [Effect]) {
        for (principal, hosts) in places {
            remove(of: principal, because: .removed, &effects) { cookie in
                hosts.contains { cookie.isSent(to: $0) }
            }
        }
    }

    /// Overwrites names and values in memory before the table is released. Copies that requests and apps hold remain.
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
    mutating func sweepIfDue(at now: Int64, _ effects: inout [Effect]) {
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
}

extension CookieEntry {
    fileprivate func isSent(to host: Host) -> Bool {
        isHostOnly ? self.host == host : DomainMatch.matches(host, self.host)
    }
}

extension CookieBucket {
    mutating func removeExcess(
        beyond limit: Int, of principal: Principal, at now: Int64, _ effects: inout [CookieTable.Effect]
    ) {
        while entries.count > limit {
            let victim = entries.remove(at: Self.victim(in: entries, at: now))
            effects.append(.removed(victim, victim.isExpired(at: now) ? .expired : .evicted, of: principal))
        }
    }

    /// "Remove excess cookies": first expired ones, then insecure ones, then all; of each, the least recently used.
    private static func victim(in entries: [CookieEntry], at now: Int64) -> Int {
        func rank(_ entry: CookieEntry) -> (Int, UInt64) {
            (entry.isExpired(at: now) ? 0 : entry.isSecure ? 2 : 1, entry.use)
        }
        return entries.indices.min { rank(entries[$0]) < rank(entries[$1]) } ?? 0
    }
}
