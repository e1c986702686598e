internal import SallyportBase
internal import SallyportCore

/// The in-memory data of a stored entry: hashes, numbers and names of fields, but no content.
struct IndexSlot: Sendable, Hashable {
    let id: EntryID
    /// The hash of the URL.
    var url: UInt64
    /// The hash of the URL's host, for ``SecureCache/remove(host:)``.
    var host: UInt64
    /// The hash of the URL's origin, for credentials that are cleared.
    var origin: UInt64
    var principal: UInt64
    /// A code for the ``TrustScope`` under which the response was received.
    var scope: UInt64
    /// The names of the request fields that the answer varies by, and the code of their values.
    var names: [String]
    var variation: UInt64
    /// In bytes, including the head.
    var size: Int64
    var received: CacheTime
    /// When the server made the response: of several that match a request, the latest is used (RFC 9111 §4).
    var dated: CacheTime
    var used: CacheTime

    var key: RequestKey { RequestKey(url: url, principal: principal, scope: scope) }

    func isOlder(than other: IndexSlot) -> Bool { (dated, received) <= (other.dated, other.received) }

    /// The size of an entry's records besides its body, fields and URL.
    static let overhead: Int64 = 512

    private static let version: UInt8 = 2

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.number(UInt64(Self.version), 1)
        for hash in [url, host, origin, principal, scope, variation] { writer.number(hash, 8) }
        for number in [size, received.milliseconds, dated.milliseconds, used.milliseconds] { writer.signed(number) }
        writer.text(names.joined(separator: ","), 4)
        return writer.bytes
    }

    /// Nil if the bytes are not a slot.
    init?(id: EntryID, bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard reader.byte() == Self.version, let url = reader.number(8), let host = reader.number(8),
            let origin = reader.number(8), let principal = reader.number(8), let scope = reader.number(8),
            let variation = reader.number(8), let size = reader.signed(), let received = reader.signed(),
            let dated = reader.signed(), let used = reader.signed(),
            let names = reader.text(4), reader.remaining == 0, size >= 0
        else { return nil }
        self.init(
            id: id, url: url, host: host, origin: origin, principal: principal, scope: scope,
            names: names.split(separator: ",").map(String.init), variation: variation, size: size,
            received: CacheTime(milliseconds: received), dated: CacheTime(milliseconds: dated),
            used: CacheTime(milliseconds: used))
    }

    init(
        id: EntryID, url: UInt64, host: UInt64, origin: UInt64, principal: UInt64, scope: UInt64, names: [String],
        variation: UInt64, size: Int64, received: CacheTime, dated: CacheTime, used: CacheTime
    ) {
        self.id = id
        (self.url, self.host, self.origin) = (url, host, origin)
        (self.principal, self.scope) = (principal, scope)
        (self.names, self.variation) = (names, variation)
        (self.size, self.received, self.dated, self.used) = (size, received, dated, used)
    }
}
