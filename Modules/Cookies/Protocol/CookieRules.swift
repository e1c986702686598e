internal import SallyportCore
internal import SallyportLoading

/// Turns a field into a cookie (RFC 6265bis §5.7) or a reason for ignoring it. Step 16, which depends on existing
/// cookies, is in ``CookieTable``.
struct CookieRules {
    /// 400 days (§5.5), in milliseconds.
    static let longestLife: Int64 = 400 * 86_400_000

    var suffixes = PublicSuffixList.system

    func cookie(
        from field: SetCookie, for request: CookieRequest, at now: Int64
    ) throws(CookieRefusal) -> CookieEntry {
        guard !field.name.isEmpty || !field.value.isEmpty else { throw .empty }
        let domain = try domain(field.domain ?? [], for: request.host)
        guard request.isSecure || !field.isSecure else { throw .insecure }
        guard field.sameSite == .none || request.isSameSite else { throw .crossSite }
        guard field.sameSite != .none || field.isSecure else { throw .noneWithoutSecure }
        let cookie = CookieEntry(
            name: field.name, value: field.value, host: domain ?? request.host, isHostOnly: domain == nil,
            path: try path(of: field, for: request), expiry: Self.expiry(of: field, at: now), created: now,
            isSecure: field.isSecure, isHTTPOnly: field.isHTTPOnly, sameSite: field.sameSite)
        guard CookiePrefix.holds(for: cookie, namesPath: field.path != nil) else { throw .prefix }
        return cookie
    }

    /// Steps 7 to 10: nil for a cookie of this host only.
    private func domain(_ attribute: [UInt8], for host: Host) throws(CookieRefusal) -> Host? {
        guard !attribute.isEmpty else { return nil }
        guard attribute.allSatisfy({ $0 < 0x80 }) else { throw .invalidDomain }
        let text = String(decoding: attribute, as: UTF8.self)
        if case .address = host {
            // An address matches only itself, and is not a domain then.
            guard text == host.bareText else { throw .otherDomain }
            return nil
        }
        guard case .name(let name) = host else { throw .invalidDomain }
        if suffixes.isPublic(text) {
            guard text == name else { throw .publicSuffix }
            return nil
        }
        guard DomainMatch.matches(name, text) else { throw .otherDomain }
        return .name(text)
    }

    /// The default path is as long as the URL's, which the standard does not limit; but a cookie is kept for a long
    /// time.
    private func path(of field: SetCookie, for request: CookieRequest) throws(CookieRefusal) -> [UInt8] {
        if case .given(let path) = field.path { return path }
        let path = CookiePath.default(of: request.path)
        guard path.count <= SetCookie.maximumLength else { throw .tooLong }
        return path
    }

    /// Step 6, with the cap of §5.5: Max-Age goes before Expires.
    private static func expiry(of field: SetCookie, at now: Int64) -> Int64 {
        if let seconds = field.maxAge {
            return seconds <= 0 ? .min : now + min(seconds * 1000, longestLife)
        }
        return field.expires.map { min($0, now + longestLife) } ?? CookieEntry.session
    }
}

/// §5.1.3, on canonical names.
enum DomainMatch {
    static func matches(_ name: String, _ domain: String) -> Bool {
        let (name, domain) = (name.utf8, domain.utf8)
        guard name.count > domain.count else { return name.elementsEqual(domain) }
        return name.suffix(domain.count).elementsEqual(domain)
            && name.dropLast(domain.count).last == UInt8(ascii: ".")
    }

    /// An address matches itself only.
    static func matches(_ host: Host, _ domain: Host) -> Bool {
        guard case .name(let name) = host, case .name(let domain) = domain else { return host == domain }
        return matches(name, domain)
    }
}

/// Name prefixes that require certain attributes (§5.4, §5.7 steps 20 to 22; `__Http-` and `__Host-Http-` by
/// draft-ietf-httpbis-layered-cookies). Case is ignored.
enum CookiePrefix {
    /// - Parameter namesPath: whether there was a `Path` attribute.
    static func holds(for cookie: CookieEntry, namesPath: Bool) -> Bool {
        // A cookie without a name is sent as its value, which must not look like a prefixed name.
        guard cookie.nameLength > 0 else { return !isPrefixed(cookie.value) }
        let isHost = cookie.isHostOnly && namesPath && cookie.path == CookiePath.root
        let name = cookie.name
        if ASCII.has(name, prefix: "__host-http-") { return cookie.isSecure && isHost && cookie.isHTTPOnly }
        if ASCII.has(name, prefix: "__host-") { return cookie.isSecure && isHost }
        if ASCII.has(name, prefix: "__http-") { return cookie.isSecure && cookie.isHTTPOnly }
        return cookie.isSecure || !ASCII.has(name, prefix: "__secure-")
    }

    private static func isPrefixed(_ bytes: ArraySlice<UInt8>) -> Bool {
        ASCII.has(bytes, prefix: "__secure-") || ASCII.has(bytes, prefix: "__host-")
            || ASCII.has(bytes, prefix: "__http-")
    }
}
