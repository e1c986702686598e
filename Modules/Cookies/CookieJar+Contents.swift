internal import SallyportBase
public import SallyportCore

// The app's operations on a jar. Each reads the stored cookies if they are not in memory yet, and throws
// `notAuthorized` or `withdrawn` while the app may not use its store.

extension CookieJar {
    /// The cookies of a principal, in the order of creation.
    ///
    /// - Throws: ``CookieError/Code-swift.struct/notAuthorized``, ``CookieError/Code-swift.struct/withdrawn``,
    ///   ``CookieError/Code-swift.struct/store``; so do all functions below.
    public func list(of principal: Principal = .instance) async throws(CookieError) -> [Cookie] {
        try await load()
        let now = clock()
        return state.withLock { $0.table.all(of: principal, at: now) }.map(Cookie.init)
    }

    /// The cookies that a request for the URL would send, in their order. Does not count as a use of the cookies.
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

    /// Sets a cookie; an expired one removes the cookie that it would replace. A persistent cookie is durable on
    /// return.
    public func set(_ cookie: Cookie, of principal: Principal = .instance) async throws(CookieError) {
        try await set([cookie], of: principal)
    }

    /// Sets all of them, in one transaction.
    public func set(_ cookies: [Cookie], of principal: Principal = .instance) async throws(CookieError) {
        try await load()
        // An app's own cookie may replace a secure one, so nothing is refused here.
        try? set(cookies.map(\.entry), of: principal, isSecure: true, at: clock())
        try await flush()
    }

    /// Removes one cookie, with any value; returns whether there was one.
    @discardableResult
    public func remove(_ cookie: Cookie, of principal: Principal = .instance) async throws(CookieError) -> Bool {
        try await remove(of: principal) { $0.isSame(as: cookie.entry) } > 0
    }

    /// Removes the cookies of a principal; returns how many there were.
    ///
    /// - Parameters:
    ///   - name: if given, only cookies with this name.
    ///   - domain: if given, only cookies of this domain and of those below it; a host in any spelling.
    ///   - principal: the identity in whose name the cookies are sent.
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

    /// Removes every cookie of every principal; returns how many there were.
    @discardableResult
    public func removeEverything() async throws(CookieError) -> Int { try await remove(of: nil) { _ in true } }

    /// The changes of the jar's cookies from now on. Concurrent changes may be reported in another order than they
    /// happened; look at the jar for the current state.
    public nonisolated var changes: CookieChanges { hub.changes() }

    // MARK: Files

    /// The longest file that is imported, in bytes.
    public static let maximumFileLength = 64 << 20

    /// Imports the cookies of a file: all, or none if it throws. Expired cookies are left out; returns how many were
    /// imported.
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

    /// The cookies of a principal as a file, with values in plain text: anyone who has the file can act as the app.
    /// Leaves out those for which ``CookieFileFormat/canHold(_:)`` is false; a comment in the file says how many.
    public func exportCookies(
        as format: CookieFileFormat, of principal: Principal = .instance
    ) async throws(CookieError) -> [UInt8] {
        format.file(of: try await list(of: principal))
    }

    // MARK: For the instance

    /// Removes the cookies that principals would send to hosts, because their credentials there were cleared; in one
    /// transaction.
    package func removeAll(sentTo places: [Principal: Set<Host>]) async throws(CookieError) {
        try await load()
        removeNow(sentTo: places)
        try await flush()
    }

    /// As ``removeAll(sentTo:)``, without asking the gate; the change is written a little later. If the cookies are not
    /// in memory, they are removed when they are read into it, and the result is false.
    @discardableResult
    package nonisolated func removeNow(sentTo places: [Principal: Set<Host>]) -> Bool {
        var isLoaded = false
        change { state in
            isLoaded = state.isLoaded
            var effects: [CookieTable.Effect] = []
            if isLoaded {
                state.table.remove(sentTo: places, &effects)
            } else {
                state.cleared.merge(places) { $0.union($1) }
            }
            return effects
        }
        return isLoaded
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
