internal import FoundationEssentials
public import Logging
public import SallyportBase
public import SallyportCore
public import SallyportLoading
public import SallyportSecureStore

/// Kerberos 5 of one instance: the users of its principals, and their tickets.
///
/// `Sallyport` creates one that answers `Negotiate` challenges through a ``NegotiateScheme``. A user's name and
/// password are taken like other credentials, once; a service uses a keytab or an existing credential cache instead.
/// Tickets are kept in memory and, encrypted, in the store until they are cleared; they are renewed or requested again
/// when a load needs one. Messages to a KDC go through the connector's tunnels, as the policy says.
///
/// At most 1,024 users have tickets and passwords here, over all principals. A further one takes the place of a user
/// whose tickets have expired and who has no password here, or else of one whose password no KDC has confirmed, or else
/// of the one who was used least recently. What was dropped is requested again, with a password of the app's. Users of
/// keytabs and caches do not count, and stay until they are cleared.
///
/// ```swift
/// let kerberos = Kerberos(in: store, gate: authorization, tunnels: connector.tunnels, names: authorization) {
///     authorization.configuration.kdcs(of: $0)
/// }
/// try await kerberos.signIn(as: KerberosUser("ann@CORP.EXAMPLE"), password: password)
/// ```
///
/// Nothing of the host's configuration is used: no krb5.conf, no environment, no DNS.
public actor Kerberos: InstancePart {
    var state = State()
    nonisolated let work = SharedWork<Errand, Ticket>()
    nonisolated let storage: TicketStorage?
    nonisolated let gate: (any AccessGate)?
    nonisolated let client: KDCClient
    nonisolated let hashing = PasswordHashing()
    nonisolated let logger: Logger
    nonisolated let limit: Int
    nonisolated let clock: @Sendable () -> Int64

    /// Work that several loads with the same secret may need at once. A load with another secret must not share the
    /// result: a wrong password would pass.
    enum Errand: Hashable, Sendable {
        case granting(Applicant)
        case forwarded(Applicant)
        case service(Applicant, ServiceName)
    }

    struct State {
        var books: [TicketOwner: TicketBook] = [:]
        /// How many calls wait for tickets of a user, whose book must not make room for another one meanwhile.
        var waiting: [TicketOwner: Int] = [:]
        var isLoaded = false
        /// Incremented when tickets are cleared: a ticket that was requested before is not kept.
        var generation = 0
        var uses: UInt64 = 0
        var allowsDelegation = false
    }

    /// Creates the client without making a connection.
    ///
    /// A KDC that no configuration lists is looked up in the enterprise's DNS (RFC 4120 §7.2.3.2); otherwise the
    /// realm's name is used as a host name, with port 88. The tunnels' policy decides whether a KDC may be reached.
    ///
    /// - Parameters:
    ///   - store: stores the tickets where the app's own calls cannot reach them; without it they end with the process.
    ///   - gate: asked before the store is used, and before a password or a ticket is taken into memory.
    ///   - tunnels: for connections to KDCs: those of a `Connector`.
    ///   - names: looks up the KDCs of realms that are not listed: an `Authorization`, which asks the gateway.
    ///   - logger: for tickets that cannot be stored, removed or renewed; no message has a key.
    ///   - kdcs: returns the KDCs of a realm, in the order in which they are tried, at most 8; none if it is not
    ///     listed.
    public init(
        in store: SecureStore? = nil, gate: (any AccessGate)? = nil, tunnels: any RoutedTunnels,
        names: (any NameLookup)? = nil, logger: Logger = Logger(label: "sallyport.kerberos"),
        kdcs: @escaping @Sendable (_ realm: String) -> [Endpoint] = { _ in [] }
    ) {
        self.init(
            in: store, gate: gate, tunnels: tunnels, realms: RealmServers(names: names, listed: kdcs), timeout: nil,
            logger: logger)
    }

    /// - Parameters:
    ///   - limit: the most users with tickets or passwords, beside those of keytabs and caches.
    ///   - clock: Unix seconds.
    package init(
        in store: SecureStore?, gate: (any AccessGate)? = nil, tunnels: any RoutedTunnels, realms: RealmServers,
        timeout: Duration? = nil, logger: Logger = Logger(label: "sallyport.kerberos"), limit: Int = Kerberos.limit,
        clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    ) {
        storage = store.map { TicketStorage($0) }
        self.gate = gate
        client = KDCClient(tunnels: tunnels, realms: realms, timeout: timeout ?? KDCClient.timeout)
        self.logger = logger
        self.limit = limit
        self.clock = clock
    }

    // MARK: The user of a principal

    /// Signs a user in with a password, which is kept in memory and used to request tickets until the tickets are
    /// cleared, access is withdrawn, or the user makes room for another one: at most 1,024 users have tickets and
    /// passwords here.
    ///
    /// Loads do the same with the credential that answers a challenge; this is for an app that wants to check it
    /// before.
    ///
    /// - Throws: ``KerberosError/Code-swift.struct/wrongPassword`` and similar codes,
    ///   ``KerberosError/Code-swift.struct/kdcUnreachable``; ``KerberosError/Code-swift.struct/notAuthorized`` and
    ///   ``KerberosError/Code-swift.struct/withdrawn`` before the password is taken; cancelled with the task.
    public func signIn(
        as user: KerberosUser, password: Redacted<String>, of principal: Principal = .instance
    ) async throws(KerberosError) {
        let owner = TicketOwner(principal: principal, user: user)
        beginWait(for: owner)
        defer { endWait(for: owner) }
        try take(password, for: owner)
        state.books[owner]?.dropTickets()
        _ = try await granting(of: applicant(owner), until: client.deadline)
    }

    /// Uses a keytab for a principal: a service's replacement for a password. The file is read whenever a ticket is
    /// requested.
    ///
    /// - Parameters:
    ///   - path: a file in the format of `ktutil` and `kadmin`.
    ///   - user: the user whose key is used; if nil, the first one in the file.
    ///   - principal: the identity in whose name requests are made with these tickets.
    /// - Returns: the user.
    /// - Throws: ``KerberosError/Code-swift.struct/keytab`` if the file cannot be read.
    @discardableResult
    public func useKeytab(
        at path: String, for user: KerberosUser? = nil, of principal: Principal = .instance
    ) throws(KerberosError) -> KerberosUser {
        let first = try HostFiles.user(ofKeytab: path)
        let owner = TicketOwner(principal: principal, user: user ?? first)
        take(.secret(.keytab(path)), for: owner)
        return owner.user
    }

    /// Uses a credential cache for a principal that another program keeps valid, such as `kinit -c`. The file is read
    /// now, and again whenever none of its tickets is valid any more.
    ///
    /// - Parameters:
    ///   - path: a file.
    ///   - principal: the identity in whose name requests are made with these tickets.
    /// - Returns: the user.
    /// - Throws: ``KerberosError/Code-swift.struct/credentialCache`` if the file cannot be read, or has no
    ///   ticket-granting ticket; ``KerberosError/Code-swift.struct/notAuthorized``,
    ///   ``KerberosError/Code-swift.struct/withdrawn``.
    @discardableResult
    public func useCredentialCache(
        at path: String, of principal: Principal = .instance
    ) throws(KerberosError) -> KerberosUser {
        try checkAccess()
        let (user, granting) = try HostFiles.granting(ofCache: path)
        let owner = TicketOwner(principal: principal, user: user)
        take(.cache(path), for: owner)
        state.books[owner]?.put(granting: granting)
        return user
    }

    /// Sets how a user obtains tickets. Tickets of another source are dropped. A password also drops those whose source
    /// is not known, such as stored ones, which have no password beside them: else a wrong one would pass, because no
    /// KDC would be asked while they hold.
    func take(_ source: TicketSource, for owner: TicketOwner) {
        state.uses += 1
        var book = state.books[owner] ?? TicketBook()
        if book.source != source, book.source != nil || source.isPassword { book.dropTickets() }
        book.source = source
        book.use = state.uses
        put(book, for: owner)
    }

    // MARK: Delegation

    /// Whether services that the realm trusts for delegation get a ticket to act for the user (RFC 4120 §2.8); false by
    /// default.
    ///
    /// A load that cannot obtain such a ticket for such a service ends with `delegationUnavailable`.
    public var allowsDelegation: Bool { state.allowsDelegation }

    /// Allows or forbids delegation. Each call clears the tickets and passwords, even if it changes nothing. Keytabs
    /// and caches stay set, and tickets are obtained from them again.
    ///
    /// The credentials that sessions keep for `Negotiate` must be cleared too; `Sallyport` does that. An app that does
    /// it by `CredentialStorage.clear(for:)` sets keytabs and caches again, if this object follows the storage.
    ///
    /// - Throws: ``KerberosError/Code-swift.struct/store``.
    public func allowDelegation(_ isAllowed: Bool) async throws(KerberosError) {
        state.allowsDelegation = isAllowed
        forget()
        // The store's tickets are about to be removed, so they need not be loaded.
        state.isLoaded = true
        try await clearStore(of: nil)
    }

    // MARK: Tickets

    /// The existing tickets, without their keys.
    ///
    /// - Throws: ``KerberosError/Code-swift.struct/notAuthorized``, ``KerberosError/Code-swift.struct/withdrawn``,
    ///   ``KerberosError/Code-swift.struct/store``.
    public func tickets() throws(KerberosError) -> [KerberosTicket] {
        try load()
        return state.books.flatMap { owner, book in
            let services = book.services.map { KerberosTicket($0.value, for: "\($0.key)", owner) }
            return (book.granting.map { [KerberosTicket($0, for: nil, owner)] } ?? []) + services
        }.sorted { ($0.principal.name, $0.user, $0.service ?? "") < ($1.principal.name, $1.user, $1.service ?? "") }
    }

    /// Removes tickets, passwords, keytabs and caches, from memory at once and from the store before it returns. A
    /// service sets its keytab or cache again to go on.
    ///
    /// - Parameter principal: the principal; nil for all.
    /// - Throws: ``KerberosError/Code-swift.struct/store``.
    public func clear(of principal: Principal? = nil) async throws(KerberosError) {
        // Tickets that are loaded while the store is being emptied of them would be used, and stored again.
        if principal != nil { try? load() }
        clearMemory(of: principal)
        try await clearStore(of: principal)
    }

    private func clearStore(of principal: Principal?) async throws(KerberosError) {
        guard let storage else { return }
        do {
            try await storage.removeAll(of: principal)
        } catch {
            throw KerberosError(.store, "The tickets cannot be removed.", underlying: error)
        }
    }

    /// Drops tickets and passwords from memory. The assignment of keytabs and caches to principals is no secret, and is
    /// kept for the time when the app may work again.
    public func withdrawn(_ change: AccessChange) { forget() }

    /// Drops tickets and passwords from memory. The store keeps its tickets.
    public func shutdown() { forget() }

    func forget() {
        state.generation += 1
        state.isLoaded = false
        state.books = state.books.compactMapValues { book in
            guard let source = book.source, !source.isPassword else { return nil }
            var empty = TicketBook()
            (empty.source, empty.use) = (source, book.use)
            return empty
        }
    }

    private func clearMemory(of principal: Principal?) {
        state.generation += 1
        state.books = state.books.filter { principal != nil && $0.key.principal != principal }
        // The store's tickets are about to be removed, so they need not be loaded.
        if principal == nil { state.isLoaded = true }
    }
}

/// Information about a ticket: no key, and nothing that could be used to authenticate.
public struct KerberosTicket: Sendable, Hashable {
    /// The principal of the app for which the ticket was obtained; not the one of Kerberos, which is ``user``.
    public let principal: Principal
    /// `name@REALM`.
    public let user: String
    /// `HTTP/host`; nil for the ticket-granting ticket.
    public let service: String?
    /// When the ticket expires, in Unix seconds by this machine's clock.
    public let ends: Int64
    /// Until when it can be renewed, like ``ends``; nil if it cannot.
    public let renewableUntil: Int64?

    init(_ ticket: Ticket, for service: String?, _ owner: TicketOwner) {
        principal = owner.principal
        user = "\(owner.user)"
        self.service = service
        ends = ticket.ends - Int64(ticket.offset)
        renewableUntil = ticket.renewableUntil == 0 ? nil : ticket.renewableUntil - Int64(ticket.offset)
    }
}
