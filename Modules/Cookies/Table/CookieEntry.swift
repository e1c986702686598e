internal import SallyportCore

/// A cookie in the table (RFC 6265bis §5.7), with its bytes ready to be sent.
struct CookieEntry: Sendable, Hashable {
    /// `name=value`; only the value if there is no name.
    private(set) var pair: [UInt8]
    let nameLength: Int
    let host: Host
    let isHostOnly: Bool
    let path: [UInt8]
    /// Milliseconds since 1970; ``session`` if the cookie ends with the process.
    var expiry: Int64
    var created: Int64
    /// When it was last sent, by the clock. Eviction goes by ``use`` instead, because the clock may be set back.
    var accessed: Int64
    let isSecure: Bool
    let isHTTPOnly: Bool
    let sameSite: SameSite
    /// The position in the order of creation, and the key in the store. A replacing cookie keeps it.
    var number: UInt64 = 0
    /// A counter that increases with each use of any cookie in the jar.
    var use: UInt64 = 0
    /// The value of ``accessed`` that is in the store.
    var writtenAccess: Int64 = 0

    static let session = Int64.max

    init(
        name: [UInt8], value: [UInt8], host: Host, isHostOnly: Bool, path: [UInt8], expiry: Int64, created: Int64,
        isSecure: Bool, isHTTPOnly: Bool, sameSite: SameSite
    ) {
        self.init(
            pair: name.isEmpty ? value : name + [UInt8(ascii: "=")] + value, nameLength: name.count, host: host,
            isHostOnly: isHostOnly, path: path, expiry: expiry, created: created, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: sameSite)
    }

    init(
        pair: [UInt8], nameLength: Int, host: Host, isHostOnly: Bool, path: [UInt8], expiry: Int64, created: Int64,
        isSecure: Bool, isHTTPOnly: Bool, sameSite: SameSite
    ) {
        self.pair = pair
        self.nameLength = nameLength
        self.host = host
        self.isHostOnly = isHostOnly
        self.path = path
        self.expiry = expiry
        self.created = created
        accessed = created
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
    }

    var isPersistent: Bool { expiry != Self.session }
    var name: ArraySlice<UInt8> { pair[..<nameLength] }
    var value: ArraySlice<UInt8> { nameLength == 0 ? pair[...] : pair[(nameLength + 1)...] }

    /// Overwrites name and value with zeros, unless other copies share their memory.
    mutating func overwrite() {
        for index in pair.indices { pair[index] = 0 }
    }

    func isExpired(at now: Int64) -> Bool { expiry <= now }

    /// Whether it is the same cookie, perhaps with another value (§5.7 step 23).
    func isSame(as other: CookieEntry) -> Bool {
        nameLength == other.nameLength && isHostOnly == other.isHostOnly && path == other.path && host == other.host
            && name == other.name
    }

    /// Whether a request includes it; the domain was checked before (§5.8.3).
    func goes(with request: CookieRequest, isExactHost: Bool, at now: Int64) -> Bool {
        (isExactHost || !isHostOnly) && (request.isSecure || !isSecure) && (request.isSameSite || sameSite == .none)
            && !isExpired(at: now) && CookiePath.matches(request.path.utf8, path)
    }

    /// §5.8.3 step 4: longer paths first, then the order of creation.
    func goesBefore(_ other: CookieEntry) -> Bool {
        path.count != other.path.count ? path.count > other.path.count : number < other.number
    }
}
