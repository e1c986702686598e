internal import SallyportCore

/// A persistent cookie as the store keeps it, under its number.
///
/// Octets: version 1, flags, SameSite, then expiry, creation, last access and use (8 each), then principal, domain,
/// path and pair, each behind its length (4), then the name's length (4). Numbers are big-endian.
struct CookieRecord {
    var principal: Principal
    var entry: CookieEntry

    private static let version: UInt8 = 1
    private static let sameSites: [SameSite] = [.default, .strict, .lax, .none]

    init(_ entry: CookieEntry, of principal: Principal) { (self.entry, self.principal) = (entry, principal) }

    var octets: [UInt8] {
        let flags: UInt8 = (entry.isHostOnly ? 1 : 0) | (entry.isSecure ? 2 : 0) | (entry.isHTTPOnly ? 4 : 0)
        let sameSite = UInt8(Self.sameSites.firstIndex(of: entry.sameSite) ?? 0)
        var octets = [Self.version, flags, sameSite]
        for number in [entry.expiry, entry.created, entry.accessed, Int64(bitPattern: entry.use)] {
            octets += Self.octets(of: UInt64(bitPattern: number), count: 8)
        }
        for part in [Array(principal.name.utf8), Array(entry.host.bareText.utf8), entry.path, entry.pair] {
            octets += Self.octets(of: UInt64(part.count), count: 4) + part
        }
        return octets + Self.octets(of: UInt64(entry.nameLength), count: 4)
    }

    private static func octets(of number: UInt64, count: Int) -> [UInt8] {
        (1...count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64(count - $0))) }
    }

    /// Nil for anything but what ``octets`` gives.
    init?(_ octets: [UInt8], number: UInt64) {
        var reader = Reader(rest: octets[...])
        guard reader.octet() == Self.version, let flags = reader.octet(), flags < 8, let sameSite = reader.octet(),
            Self.sameSites.indices.contains(Int(sameSite)), let expiry = reader.number(), let created = reader.number(),
            let accessed = reader.number(), let use = reader.number(), let principal = reader.text(),
            let domain = reader.text(), let host = try? Host(domain), let path = reader.part(),
            let pair = reader.part(), let nameLength = reader.length(), reader.rest.isEmpty,
            nameLength == 0 || nameLength < pair.count && pair[pair.startIndex + nameLength] == UInt8(ascii: "="),
            path.first == UInt8(ascii: "/"), !pair.isEmpty
        else { return nil }
        self.principal = principal == Principal.instance.name ? .instance : Principal(principal)
        entry = CookieEntry(
            pair: Array(pair), nameLength: nameLength, host: host, isHostOnly: flags & 1 != 0, path: Array(path),
            expiry: expiry, created: created, isSecure: flags & 2 != 0, isHTTPOnly: flags & 4 != 0,
            sameSite: Self.sameSites[Int(sameSite)])
        entry.accessed = accessed
        entry.use = UInt64(bitPattern: use)
        entry.number = number
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func octet() -> UInt8? { rest.popFirst() }

        private mutating func number(of count: Int) -> UInt64? {
            guard rest.count >= count else { return nil }
            defer { rest.removeFirst(count) }
            return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func length() -> Int? { number(of: 4).map { Int($0) } }
        mutating func number() -> Int64? { number(of: 8).map { Int64(bitPattern: $0) } }

        mutating func part() -> ArraySlice<UInt8>? {
            guard let length = length(), rest.count >= length else { return nil }
            defer { rest.removeFirst(length) }
            return rest.prefix(length)
        }

        mutating func text() -> String? { part().flatMap { String(validating: $0, as: UTF8.self) } }
    }
}
