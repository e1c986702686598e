internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// A persistent cookie as it is stored, under its number.
///
/// Bytes: version 1, flags, SameSite, then expiry, creation, last access and use (8 each), then principal, domain, path
/// and pair, each after its length (4), then the name's length (4). Numbers are big-endian.
struct CookieRecord {
    var principal: Principal
    var entry: CookieEntry

    private static let version: UInt8 = 1
    private static let sameSites: [SameSite] = [.default, .strict, .lax, .none]

    init(_ entry: CookieEntry, of principal: Principal) { (self.entry, self.principal) = (entry, principal) }

    var bytes: [UInt8] {
        let flags: UInt8 = (entry.isHostOnly ? 1 : 0) | (entry.isSecure ? 2 : 0) | (entry.isHTTPOnly ? 4 : 0)
        let sameSite = UInt8(Self.sameSites.firstIndex(of: entry.sameSite) ?? 0)
        var writer = ByteWriter([Self.version, flags, sameSite])
        for number in [entry.expiry, entry.created, entry.accessed] { writer.signed(number) }
        writer.number(entry.use, 8)
        for text in [principal.name, entry.host.bareText] { writer.text(text, 4) }
        for part in [entry.path, entry.pair] { writer.part(part, 4) }
        writer.number(UInt64(entry.nameLength), 4)
        return writer.bytes
    }

    /// Nil for anything that ``bytes`` cannot have written.
    init?(_ bytes: [UInt8], number: UInt64) {
        var reader = ByteReader(bytes)
        guard reader.byte() == Self.version, let flags = reader.byte(), flags < 8, let sameSite = reader.byte(),
            Self.sameSites.indices.contains(Int(sameSite)), let expiry = reader.signed(), let created = reader.signed(),
            let accessed = reader.signed(), let use = reader.number(8), let principal = reader.text(4),
            let domain = reader.text(4), let host = try? Host(domain), let path = reader.part(4),
            let pair = reader.part(4), let nameLength = reader.number(4).map({ Int($0) }), reader.remaining == 0,
            nameLength == 0 || nameLength < pair.count && pair[pair.startIndex + nameLength] == UInt8(ascii: "="),
            path.first == UInt8(ascii: "/"), !pair.isEmpty
        else { return nil }
        self.principal = principal == Principal.instance.name ? .instance : Principal(principal)
        entry = CookieEntry(
            pair: Array(pair), nameLength: nameLength, host: host, isHostOnly: flags & 1 != 0, path: Array(path),
            expiry: expiry, created: created, isSecure: flags & 2 != 0, isHTTPOnly: flags & 4 != 0,
            sameSite: Self.sameSites[Int(sameSite)])
        entry.accessed = accessed
        entry.use = use
        entry.number = number
    }
}
