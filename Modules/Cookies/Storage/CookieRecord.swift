internal import SallyportCore

/// A persistent cookie as the store keeps it, under its number.
///
/// Octets: version 1, flags, SameSite, then expiry, creation, last access and use (8 each), then principal, domain,
/// path and pair, each behind its length (2), then the name's length (2). Numbers are big-endian.
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
            octets += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
        }
        for part in [Array(principal.name.utf8), Array(entry.host.bareText.utf8), entry.path, entry.pair] {
            octets += [UInt8(truncatingIfNeeded: part.count >> 8), UInt8(truncatingIfNeeded: part.count)] + part
        }
        return octets + [UInt8(entry.nameLength >> 8), UInt8(truncatingIfNeeded: entry.nameLength)]
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

        mutating func length() -> Int? {
            guard let high = octet(), let low = octet() else { return nil }
            return Int(high) << 8 | Int(low)
        }

        mutating func number() -> Int64? {
            guard rest.count >= 8 else { return nil }
            defer { rest.removeFirst(8) }
            return Int64(bitPattern: rest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }

        mutating func part() -> ArraySlice<UInt8>? {
            guard let length = length(), rest.count >= length else { return nil }
            defer { rest.removeFirst(length) }
            return rest.prefix(length)
        }

        mutating func text() -> String? { part().flatMap { String(validating: $0, as: UTF8.self) } }
    }
}
