internal import SallyportCore

/// The cookies of one principal, found by host.
struct PrincipalCookies {
    private(set) var buckets: [CookieBucket] = []
    private var index = HostIndex()
    private(set) var count = 0
    private var emptyBuckets = 0

    // MARK: Finding

    /// Calls `body` with the place of each domain that has cookies and matches a host.
    func forEachMatch(of host: Host, _ body: (_ place: Int, _ isExact: Bool) -> Void) {
        guard case .name(let name) = host else {
            if let place = place(of: host) { body(place, true) }
            return
        }
        index.forEachDomain(of: name) { first, start in
            var place: Int? = first
            while let found = place {
                if case .name(let domain) = buckets[found].host, name.isEqual(to: domain, from: start) {
                    return body(found, start == 0)
                }
                place = buckets[found].next
            }
        }
    }

    private func place(of host: Host) -> Int? {
        var place = index.first(index.digest(of: host))
        while let found = place {
            if buckets[found].host == host { return found }
            place = buckets[found].next
        }
        return nil
    }

    // MARK: Changing

    /// The cookies of exactly this domain; everything but their number may be changed.
    mutating func withBucket<Result>(at place: Int, _ body: (inout CookieBucket) -> Result) -> Result {
        let before = buckets[place].entries.count
        defer {
            let after = buckets[place].entries.count
            count += after - before
            if before == 0, after > 0 { emptyBuckets -= 1 }
            if before > 0, after == 0 { emptyBuckets += 1 }
        }
        return body(&buckets[place])
    }

    /// The place of a domain, which is created if there is none.
    mutating func ensurePlace(of host: Host) -> Int {
        if let place = place(of: host) { return place }
        if emptyBuckets > 64, emptyBuckets > buckets.count / 2 { rebuild() }
        let digest = index.digest(of: host)
        var bucket = CookieBucket(host)
        bucket.next = index.first(digest)
        buckets.append(bucket)
        emptyBuckets += 1
        index.setFirst(buckets.count - 1, of: digest)
        return buckets.count - 1
    }

    /// Removes cookies and returns them.
    mutating func remove(where isUnwanted: (CookieEntry) -> Bool) -> [CookieEntry] {
        var removed: [CookieEntry] = []
        for place in buckets.indices where buckets[place].entries.contains(where: isUnwanted) {
            withBucket(at: place) { bucket in
                removed += bucket.entries.filter(isUnwanted)
                bucket.entries.removeAll(where: isUnwanted)
            }
        }
        return removed
    }

    /// Drops the domains that have no cookie any more.
    private mutating func rebuild() {
        let kept = buckets.filter { !$0.entries.isEmpty }
        buckets = []
        index.removeAll()
        for var bucket in kept {
            let digest = index.digest(of: bucket.host)
            bucket.next = index.first(digest)
            buckets.append(bucket)
            index.setFirst(buckets.count - 1, of: digest)
        }
        emptyBuckets = 0
    }
}

extension String {
    /// Whether the bytes from a position on are those of another string. Read as they lie: a view of a part would be
    /// asked for each of them.
    fileprivate func isEqual(to other: String, from start: Int) -> Bool {
        let (bytes, others) = (utf8.span, other.utf8.span)
        guard bytes.count - start == others.count else { return false }
        for index in others.indices where bytes[start + index] != others[index] { return false }
        return true
    }
}
