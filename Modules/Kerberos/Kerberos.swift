internal import FoundationEssentials
public import Logging
public import SallyportBase
public import SallyportCore
public import SallyportLoading
public import SallyportSecureStore

/// Kerberos 5 of one instance: who its principals are, and their tickets.
///
/// `Sallyport` makes one and has it answer `Negotiate` challenges, as a ``NegotiateScheme`` does. A user's name and password are taken like other
/// credentials, once; a service of its own gives a keytab, or an existing credential cache. Tickets lie in memory and in
/// the store, encrypted, until they are cleared; they are renewed, and asked for anew, when a load needs one. What is said
/// to a KDC goes through the connector's tunnels, as the policy says.
///
/// ```swift
/// let kerberos = Kerberos(in: store, gate: authorization, tunnels: connector.tunnels, names: authorization) {
///     authorization.configuration.kdcs(of: $0)
/// }
/// try await kerberos.signIn(as: KerberosUser("ann@CORP.EXAMPLE"), password: password)
/// ```
///
/// Nothing of the host is read: no krb5.conf, no environment, no DNS.
public actor Kerberos: InstancePart {
    var state = State()
    nonisolated let work = SharedWork<Errand, Ticket>()
    nonisolated let storage: TicketStorage?
    nonisolated let gate: (any AccessGate)?
    nonisolated let client: KDCClient
    nonisolated let logger: Logger
    nonisolated let clock: @Sendable () -> Int64

    /// What several loads may want at once.
    enum Errand: Hashable, Sendable {
        case granting(TicketOwner)
        case forwarded(TicketOwner)
        case service(TicketOwner, ServiceName)
    }

    struct State {
        var books: [TicketOwner: TicketBook] = [:]
        var isLoaded = false
        /// Rises when tickets are forgotten: what was asked for before is not kept.
        var generation = 0
        var uses: UInt64 = 0
        var allowsDelegation = false
    }

    /// Makes no connection yet.
    ///
    /// A KDC that no configuration lists is found by the names of the inside (RFC 4120 §7.2.3.2), else the realm's own name
    /// is taken for a host, with port 88. Whether one may be spoken to, the tunnels' policy decides.
    ///
    /// - Parameters:
    ///   - store: keeps the tickets, where the app's own calls do not see them; without one they end with the process.
    ///   - gate: asked before the store is used.
    ///   - tunnels: the way to the KDCs: those of a `Connector`.
    ///   - names: asked for the KDCs of realms that are not listed: an `Authorization`, which asks the gateway.
    ///   - kdcs: those of a realm, in the order in which they are tried, at most 8; none if it is not listed.
    public init(
        in store: SecureStore? = nil, gate: (any AccessGate)? = nil, tunnels: any RoutedTunnels,
        names: (any NameLookup)? = nil, logger: Logger = Logger(label: "sallyport.kerberos"),
        kdcs: @escaping @Sendable (_ realm: String) -> [Endpoint] = { _ in [] }
    ) {
        self.init(
            in: store, gate: gate, tunnels: tunnels, realms: RealmServers(names: names, listed: kdcs), timeout: nil,
            logger: logger)
    }

    /// - Parameter clock: Unix seconds.
    package init(
        in store: SecureStore?, gate: (any AccessGate)? = nil, tunnels: any RoutedTunnels, realms: RealmServers,
        timeout: Duration? = nil, logger: Logger = Logger(label: "sallyport.kerberos"),
        clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }
    ) {
        storage = store.map { TicketStorage($0) }
        self.gate = gate
        client = KDCClient(tunnels: tunnels, realms: realms, timeout: timeout ?? KDCClient.timeout)
        self.logger = logger
        self.clock = clock
    }

    // MARK: Who a principal is

    /// Signs a user in with a password, which is kept in memory and asks for tickets as long as they are not cleared.
    ///
    /// Loads do the same with the credential that answers a challenge; this is for an app that wants to know before.
    ///
    /// - Throws: ``KerberosError/Code-swift.struct/wrongPassword`` and its kin,
    ///   ``KerberosError/Code-swift.struct/kdcUnreachable``; cancelled with the task.
    public func signIn(
        as user: KerberosUser, password: Redacted<String>, of principal: Principal = .instance
    ) async throws(KerberosError) {
        let owner = TicketOwner(principal: principal, user: user)
        guard let password = Password(password) else {
            throw KerberosError(.wrongPassword, "A password has no zero in it.")
        }
        take(.secret(.password(password)), for: owner)
        state.books[owner]?.dropTickets()
        _ = try await granting(of: owner)
    }

    /// Has a keytab speak for a principal: what a service has in place of a password. The file is read whenever a ticket is
    /// asked for.
    ///
    /// - Parameters:
    ///   - path: a file of the form that `ktutil` and `kadmin` write.
    ///   - user: whose key of it; the first user's where nil.
    /// - Returns: who it is.
    /// - Throws: ``KerberosError/Code-swift.struct/keytab`` where the file cannot be read.
    @discardableResult
    public func useKeytab(
        at path: String, for user: KerberosUser? = nil, of principal: Principal = .instance
    ) throws(KerberosError) -> KerberosUser {
        let first = try HostFiles.user(ofKeytab: path)
        let owner = TicketOwner(principal: principal, user: user ?? first)
        take(.secret(.keytab(path)), for: owner)
        return owner.user
    }

    /// Has a credential cache that somebody else keeps, as `kinit -c` does, speak for a principal. The file is read now,
    /// and again whenever no ticket of it holds any more.
    ///
    /// - Parameter path: a file.
    /// - Returns: who it is.
    /// - Throws: ``KerberosError/Code-swift.struct/credentialCache`` where the file cannot be read, or has no ticket of the
    ///   ticket-granting service.
    @discardableResult
    public func useCredentialCache(
        at path: String, of principal: Principal = .instance
    ) throws(KerberosError) -> KerberosUser {
        let (user, granting) = try HostFiles.granting(ofCache: path)
        let owner = TicketOwner(principal: principal, user: user)
        take(.cache(path), for: owner)
        state.books[owner]?.put(granting: granting)
        return user
    }

    /// Notes how a user asks for tickets. Those that another password had got are forgotten.
    func take(_ source: TicketSource, for owner: TicketOwner) {
        state.uses += 1
        var book = state.books[owner] ?? TicketBook()
        if let known = book.source, known != source { book.dropTickets() }
        book.source = source
        book.use = state.uses
        state.books[owner] = book
    }

    // MARK: Delegation

    /// Whether services that the realm trusts with it get a ticket to act for the user (RFC 4120 §2.8); not by default.
    ///
    /// A load that cannot have such a ticket for such a service ends with `delegationUnavailable`.
    public var allowsDelegation: Bool { state.allowsDelegation }

    /// Allows delegation, or forbids it. Each call clears the tickets and passwords, whatever was allowed before: the
    /// credentials that sessions keep for `Negotiate` are to be cleared too (`CredentialStorage.clear(for:)`), which
    /// `Sallyport` does.
    ///
    /// - Throws: ``KerberosError/Code-swift.struct/store``.
    public func allowDelegation(_ isAllowed: Bool) async throws(KerberosError) {
        state.allowsDelegation = isAllowed
        try await clear()
    }

    // MARK: Tickets

    /// The tickets that there are, without their keys.
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

    /// Forgets tickets, passwords, keytabs and caches, in memory at once, in the store on return.
    ///
    /// - Parameter principal: whose; everybody's where nil.
    /// - Throws: ``KerberosError/Code-swift.struct/store``.
    public func clear(of principal: Principal? = nil) async throws(KerberosError) {
        clearMemory(of: principal)
        guard let storage else { return }
        do {
            try await storage.removeAll(of: principal)
        } catch {
            throw KerberosError(.store, "The tickets cannot be removed.", underlying: error)
        }
    }

    /// Drops tickets and passwords from memory. Which keytab or cache belongs to which principal is no secret, and holds when
    /// the app may work again.
    public func withdrawn(_ change: AccessChange) { forget() }

    /// The same. What the store has stays there.
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

/// What is known of a ticket: no key, and nothing that anybody could use.
public struct KerberosTicket: Sendable, Hashable {
    public let principal: Principal
    /// `name@REALM`.
    public let user: String
    /// `HTTP/host`; nil for the ticket that others are asked for with.
    public let service: String?
    /// Unix seconds, by this machine's clock.
    public let ends: Int64
    /// Until when it can be renewed, as ``ends``; nil where it cannot.
    public let renewableUntil: Int64?

    init(_ ticket: Ticket, for service: String?, _ owner: TicketOwner) {
        principal = owner.principal
        user = "\(owner.user)"
        self.service = service
        ends = ticket.ends - Int64(ticket.offset)
        renewableUntil = ticket.renewableUntil == 0 ? nil : ticket.renewableUntil - Int64(ticket.offset)
    }
}
