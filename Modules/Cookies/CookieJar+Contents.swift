internal import SallyportBase
public import SallyportCore

// What apps do with a jar. Each call reads the stored cookies where they are not in memory yet, and throws
// `notAuthorized` or `withdrawn` while the app may not use its store.

extension CookieJar {
    /// The cookies of a principal, in the order in which they were made.
    ///
    /// - Throws: ``CookieError/Code-swift.struct/notAuthorized``, ``CookieError/Code-swift.struct/withdrawn``,
    ///   ``CookieError/Code-swift.struct/store``; so do all functions below.
    public func list(of principal: Principal = .instance) async throws(CookieError) -> [Cookie] {
        try await load()
        let now = clock()
        return state.withLock { $0.table.all(of: principal, at: now) }.map(Cookie.init)
    }

    /// The cookies that a request for the URL would send, in their order. Nobody's last use changes.
    public func list(
        for url: RequestURL, of principal: Principal = .instance
    ) async throws(CookieError) -> [Cookie] {
        try await load()
        guard let request = CookieRequest(url) else { return [] }
        let now = clock()
        return state.withLock { $0.table.all(for: request, of: principal, at: now) }.map(Cookie.init)
    }

    /// The principals that have cookies.
    public func principals() async throws(CookieError) -> [Principal] {
        try await load()
        return state.withLock { $0.table.owners.all }.sorted { $0.name < $1.name }
    }

    /// Sets a cookie; one that has expired removes what it would replace. Durable on return, where it is persistent.
    public func set(_ cookie: Cookie, of principal: Principal = .instance) async throws(CookieError) {
        try await set([cookie], of: principal)
    }

    /// Sets all of them, in one transaction.
    public func set(_ cookies: [Cookie], of principal: Principal = .instance) async throws(CookieError) {
        try await load()
        // An app's own cookie may lie over a secure one, so that nothing is refused here.
        try? set(cookies.map(\.entry), of: principal, isSecure: true, at: clock())
        try await flush()
    }

    /// Removes one cookie, whatever its value; whether there was one.
    @discardableResult
    public func remove(_ cookie: Cookie, of principal: Principal = .instance) async throws(CookieError) -> Bool {
        try await remove(of: principal) { $0.isSame(as: cookie.entry) } > 0
    }

    /// Removes the cookies of a principal; gives how many there were.
    ///
    /// - Parameters:
    ///   - name: those of the name only.
    ///   - domain: those of the domain and of all below it only; a host in any spelling.
    @discardableResult
    public func removeAll(
        named name: String? = nil, ofDomain domain: String? = nil, of principal: Principal = .instance
    ) async throws(CookieError) -> Int {
        let host = try domain.map(Self.host)
        return try await remove(of: principal) { cookie in
            (name.map { cookie.name.elementsEqual($0.utf8) } ?? true)
                && (host.map { DomainMatch.matches(cookie.host, $0) } ?? true)
        }
    }

    /// Removes every cookie of every principal; gives how many there were.
    @discardableResult
    public func removeEverything() async throws(CookieError) -> Int { try await remove(of: nil) { _ in true } }

    /// What happens to the jar's cookies from now on. What several change at once may be told in another order than it
    /// happened; look at the jar for what holds.
    public nonisolated var changes: CookieChanges { hub.changes() }

    // MARK: Files

    /// The longest file that is imported, in bytes.
    public static let maximumFileLength = 64 << 20

    /// Takes the cookies of a file, all or, where it throws, none. What has expired by now is left out; gives how many
    /// were taken.
    ///
    /// - Throws: ``CookieError/Code-swift.struct/invalidFile``, ``CookieError/Code-swift.struct/tooLarge``.
    @discardableResult
    public func importCookies(
        _ file: [UInt8], as format: CookieFileFormat, of principal: Principal = .instance
    ) async throws(CookieError) -> Int {
        let now = clock()
        let cookies = try format.cookies(in: file).filter { !$0.entry.isExpired(at: now) }
        try await set(cookies, of: principal)
        return cookies.count
    }

    /// The cookies of a principal as a file, values in plain text: whoever has it can act as the app.
    public func exportCookies(
        as format: CookieFileFormat, of principal: Principal = .instance
    ) async throws(CookieError) -> [UInt8] {
        format.file(of: try await list(of: principal))
    }

    // MARK: For the instance

    /// Removes what a principal would send to a host: its credentials there were cleared.
    package func removeAll(sentTo host: Host, of principal: Principal) async throws(CookieError) {
        _ = try await remove(of: principal) { Self.isSent($0, to: host) }
    }

    /// As ``removeAll(sentTo:of:)``, if the cookies are in memory, without asking the gate; the change is written a
    /// little later. Returns false if they are not in memory.
    @discardableResult
    package nonisolated func removeNow(sentTo host: Host, of principal: Principal) -> Bool {
        var isLoaded = false
        change { state in
            isLoaded = state.isLoaded
            var effects: [CookieTable.Effect] = []
            state.table.remove(of: principal, because: .removed, &effects) { Self.isSent($0, to: host) }
            return effects
        }
        return isLoaded
    }

    private static func isSent(_ cookie: CookieEntry, to host: Host) -> Bool {
        cookie.isHostOnly ? cookie.host == host : DomainMatch.matches(host, cookie.host)
    }

    private func remove(
        of principal: Principal?, where isUnwanted: (CookieEntry) -> Bool
    ) async throws(CookieError) -> Int {
        try await load()
        var count = 0
        change { state in
            var effects: [CookieTable.Effect] = []
            state.table.remove(of: principal, because: .removed, &effects, where: isUnwanted)
            count = effects.count
            return effects
        }
        try await flush()
        return count
    }

    private static func host(_ text: String) throws(CookieError) -> Host {
        do throws(AddressError) {
            return try Host(text)
        } catch {
            throw CookieError(.invalidCookie, "The domain is no host.", underlying: error)
        }
    }
}
