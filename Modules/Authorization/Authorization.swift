public import Logging
internal import SallyportBase
public import SallyportCore
public import SallyportSecureStore
internal import SallyportTransport
internal import SallyportWire

/// Whether and how the app may connect: activation, identity, configuration and their changes.
///
/// It is opened on a store, activated once with a link, and authorized at each start; `run()` then keeps it current.
/// Requests ask it through `AccessGate`, synchronously. Do not call any function after the store was closed.
public actor Authorization {
    nonisolated let gate: Gate
    nonisolated let followers = Followers<AuthorizationEvent>()
    nonisolated let board = InfrastructureBoard()
    nonisolated let channel = Board(ControlChannel.none)
    nonisolated let calls = Board(ChannelCalls())
    nonisolated let published = Lock(Published())
    nonisolated let stopped: AsyncStream<Void>
    nonisolated let stop: AsyncStream<Void>.Continuation
    nonisolated let hints: AsyncStream<Void>
    nonisolated let hint: AsyncStream<Void>.Continuation
    nonisolated let renewals: AsyncStream<Void>
    nonisolated let renewal: AsyncStream<Void>.Continuation
    /// Each time that the store did not take a configuration, or decisions, or could not be wiped whole.
    nonisolated let storings: AsyncStream<Void>
    nonisolated let storing: AsyncStream<Void>.Continuation

    let application: ApplicationIdentity?
    let records: AuthorizationRecords
    nonisolated let client: any ControlClient
    let clock: any AuthorizationClock
    let logger: Logger
    var random: any RandomNumberGenerator & Sendable

    var identity: IdentityRecord?
    /// Whether ``activate(link:version:waits:)`` goes on: a second one would set the state and the identity under it.
    var isActivating = false
    /// How many calls of ``authorize()`` are at work: what is fetched meanwhile, by any task, may open the gate.
    var authorizations = 0
    /// Whether the administrator's word alone opens the gate: ``authorize()`` has opened it in this process or has ended
    /// in `withdrawn`, or the administrator or the app itself has withdrawn access, also before the start. The end of a
    /// lease does not count.
    var mayOpen = false
    /// One renewal at a time: the gateway takes a second one, with another key, for that of a copied store.
    var renewalTurns = Turns(limit: 1)
    var document: ConfigurationDocument?
    /// The signed text of ``document`` until it is stored.
    var unstored: [UInt8]?
    /// Whether the store did not take what it was given last: a configuration, or decisions.
    var hasStoringFailed = false
    /// Whether a wipe has failed, and none has succeeded since.
    var isWipeUnfinished = false
    /// The configuration whose values the app knows: the last one while it was authorized, since events of changes are
    /// sent only then.
    var told: ConfigurationDocument?
    var decisions: LocalDecisions
    /// What the store has of ``decisions``.
    var storedDecisions: LocalDecisions
    /// What a lease runs by: it keeps the latest time that the wall clock has shown, until the next configuration.
    var mark: TimeMark
    /// What signers are judged by: the gateway's word and the running time of the machine alone. A wall clock that was
    /// ahead must not make the gateway's next configuration, which corrects the other mark, look expired.
    var gatewayMark: TimeMark
    var lastEventID: String?
    var gateways = KnownGateways()
    var confirmations = Confirmations()
    /// The last conclusion drawn about access, and the number of conclusions so far.
    var (conclusion, conclusions) = (AuthorizationState.notAuthorized, UInt64(0))
    /// How many conclusions are being stored, and the tasks that wait until none is.
    var (unstoredConclusions, conclusionWaiters) = (0, TaskWaiters())

    /// The state that is read without waiting, and the delegate.
    struct Published: Sendable {
        var state = AuthorizationState.notAuthorized
        var document: ConfigurationDocument?
        var blocks: [LocalBlock] = []
        weak var delegate: (any AuthorizationDelegate)?
    }

    /// Opens the authorization that a store holds, with its own connections to the gateway. Makes no connection yet.
    ///
    /// ```swift
    /// let store = try await SecureStore.open(at: "/var/lib/report", protectedBy: .systemdCredential("sallyport"))
    /// let authorization = try Authorization.open(store: store)
    /// try await authorization.authorize()
    /// let sockets = SocketSystem(gate: authorization, decisions: authorization)
    /// ```
    ///
    /// For programs that compose the modules themselves; `Sallyport.open` does this and more. The caller owns the store
    /// and closes it after ``close()``.
    ///
    /// - Parameters:
    ///   - store: holds the identity, the configuration and the decisions, where the app's own calls cannot reach them.
    ///   - application: the app's entitlement and version; if nil, those for which the store was activated.
    ///   - logger: for what happens in the background; no message has a secret.
    /// - Throws: ``AuthorizationError/Code/wrongApplication`` if the store is activated for another application.
    public static func open(
        store: SecureStore, application: ApplicationIdentity? = nil,
        logger: Logger = Logger(label: "sallyport.authorization")
    ) throws(AuthorizationError) -> Authorization {
        try open(
            store: store, application: application, client: TransportControlClient(Transport()), clock: SystemClock(),
            logger: logger)
    }

    package static func open(
        store: SecureStore, application: ApplicationIdentity?, client: any ControlClient,
        clock: any AuthorizationClock, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
        logger: Logger = Logger(label: "sallyport.authorization")
    ) throws(AuthorizationError) -> Authorization {
        let records = AuthorizationRecords(store)
        let contents = try records.contents()
        if let application, let identity = contents.identity, identity.name.entitlement != application.entitlement {
            throw AuthorizationError(
                .wrongApplication, .appIntegrityFailed,
                "The store is activated for \(identity.name.entitlement), not \(application.id).")
        }
        return Authorization(
            contents, records: records, application: application, client: client, clock: clock, random: random,
            logger: logger)
    }

    private init(
        _ contents: AuthorizationRecords.Contents, records: AuthorizationRecords, application: ApplicationIdentity?,
        client: any ControlClient, clock: any AuthorizationClock, random: any RandomNumberGenerator & Sendable,
        logger: Logger
    ) {
        self.records = records
        self.application = application
        self.client = client
        self.clock = clock
        self.random = random
        self.logger = logger
        gate = Gate(clock: clock)
        (stopped, stop) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (hints, hint) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (renewals, renewal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (storings, storing) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        identity = contents.identity
        (decisions, storedDecisions) = (contents.decisions, contents.decisions)
        let stored = contents.mark ?? TimeMark(time: 0, uptime: clock.uptime)
        // Renewed, so that after a restart of the machine the time counts from the new start.
        mark = TimeMark(time: stored.leaseTime(wall: clock.wall, uptime: clock.uptime), uptime: clock.uptime)
        let known = contents.document
        // A store of an earlier version has no such mark, but the configuration says when it was signed.
        let proven = max(known?.iat ?? 0, contents.gatewayMark?.time(at: clock.uptime) ?? 0)
        gatewayMark = TimeMark(time: proven, uptime: clock.uptime)
        document = known
        mayOpen = known.map { Verdict.isWithdrawn(by: $0, contents.decisions) } ?? false
        told = document?.status == .active ? document : nil
        let (document, blocks) = (document, decisions.blocks)
        published.withLock { $0 = Published(document: document, blocks: blocks) }
        // If the last known state was a withdrawal, the store stays closed until the gateway lifts it.
        guard let document else { return }
        let time = mark.leaseTime(wall: clock.wall, uptime: clock.uptime)
        let state = Verdict.state(of: document, decisions: decisions, at: time)
        guard state != .authorized else { return }
        published.withLock { $0.state = state }
        gate.withdraw(state.code)
    }
}

// MARK: Queries from any thread

extension Authorization {
    /// The state that was published last. Reading it waits for nothing.
    ///
    /// After ``open(store:application:logger:)`` it is ``AuthorizationState/notAuthorized`` until ``authorize()`` or
    /// ``activate(link:version:waits:)`` is called; if the stored configuration withdraws the authorization, or its
    /// lease is over, it is `locked` or `wiped` at once. A change is published after the gate has changed and its
    /// observers have handled the change: in between, requests are judged by the new state already. ``events`` tells of
    /// each change to `authorized`, `locked` and `wiped`.
    public nonisolated var state: AuthorizationState { published.withLock { $0.state } }

    /// The last known configuration; empty before the first.
    public nonisolated var configuration: Configuration { Configuration(published.withLock { $0.document }) }

    /// The app's own blocks, the oldest first.
    public nonisolated var localBlocks: [LocalBlock] { published.withLock { $0.blocks } }

    /// Events from now on; every call makes a new sequence.
    public nonisolated var events: AuthorizationEvents {
        AuthorizationEvents(stream: followers.follow(buffering: .bufferingNewest(64)))
    }

    /// Sets the delegate that receives events; held weakly.
    public nonisolated func setDelegate(_ delegate: (any AuthorizationDelegate)?) {
        published.withLock { $0.delegate = delegate }
    }

    /// Says how a URL would be reached under the last known configuration; makes no connection.
    ///
    /// - Throws: `AddressError` if the text is not an `http` or `https` URL; `AccessDenied` before the first
    ///   configuration.
    public nonisolated func explain(_ url: String) throws -> Explanation {
        guard let document = published.withLock({ $0.document }) else { throw AccessDenied(.notAuthorized) }
        return try document.explain(url)
    }
}

extension Authorization: AccessGate {
    /// The way to a server under the configuration in force. Each call checks the lease; none makes a connection.
    ///
    /// - Throws: `AccessDenied`: `notAuthorized` until this process is authorized; `withdrawn` with the result code,
    ///   which is `ResultCode.blocked` once the lease is over; `denied` if the route is `deny`, or if no cluster of
    ///   the route has relays in the configuration.
    public nonisolated func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        let (policy, revision, edition) = try gate.policy()
        var access = try policy.rules.access(to: endpoint, revision: revision)
        access.edition = edition
        return access
    }

    /// Whether the configuration allows answers to challenges of this method. It decides on Basic, Digest, Negotiate
    /// and NTLM; an app's own scheme is always allowed. While the app is not authorized, none is.
    public nonisolated func allows(_ method: AuthenticationMethod) -> Bool {
        do throws(AccessDenied) {
            let schemes = try gate.policy().policy.rules.schemes
            return schemes.contains(method.name) || !AuthenticationMethod.administered.contains(method)
        } catch {
            return false
        }
    }

    public nonisolated func completed(_ endpoint: Endpoint) -> Endpoint {
        guard endpoint.host.isShort, let policy = try? gate.policy().policy else { return endpoint }
        return policy.rules.table.completed(endpoint)
    }

    /// The application's own servers in the order of the configuration, which need not be the order of their
    /// priorities; also in ``ApplicationConfiguration/servers``, which is ordered and can be read while access is
    /// withdrawn.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized.
    public nonisolated func applicationServers() throws(AccessDenied) -> [ApplicationServer] {
        _ = try gate.policy()
        let servers = published.withLock { $0.document }?.servers ?? []
        return servers.filter(\.isApplicationServer).map { ApplicationServer($0.endpoint, priority: $0.priority) }
    }

    public nonisolated func checkAuthorized() throws(AccessDenied) { _ = try gate.policy() }

    public nonisolated func rulesRevision() throws(AccessDenied) -> UInt64 { try gate.policy().revision }

    public nonisolated func onAccessChange(
        _ observer: @escaping @Sendable (AccessChange) -> Void
    ) -> AccessObservation { gate.observe(observer) }

    /// As ``onAccessChange(_:)``, for asynchronous observers such as actors. All of them have handled a change before
    /// its state and event are published, and before the call that caused it returns. They are not informed of the
    /// current access, nor of the end of a lease that a request notices before ``run()`` does; that end drops no
    /// secrets.
    package nonisolated func onAccessChange(
        awaiting observer: @escaping @Sendable (AccessChange) async -> Void
    ) -> AccessObservation { gate.observe(awaiting: observer) }
}

/// The gateway counts as reachable while its event stream, which ``Authorization/run()`` keeps, is open: heartbeats
/// come every 2 s, and a stream without one for 5 s has ended. If the gateway has others beside it, the stream is opened at
/// the next one first. While it does not run, the state is unknown.
extension Authorization: InfrastructureStatus {
    public nonisolated var infrastructure: InfrastructureState { board.infrastructure }

    public nonisolated func infrastructureChanges() -> AsyncStream<InfrastructureState> {
        board.infrastructureChanges()
    }
}
