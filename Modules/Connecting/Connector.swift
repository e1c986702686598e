public import SallyportCore
public import SallyportLoading
package import SallyportTransport
internal import Synchronization

/// The one way out of an app: takes a destination, and returns a response or a stream of bytes.
///
/// Every connection is made in the same steps: the policy is asked; the connection is made by the route that it names
/// and by no other, with the trust, pins, certificate, proxy and TLS versions of the settings; and the policy is asked
/// again once there is a connection. That holds for loads, streams of sessions, tunnels of plugins and of ticket
/// clients, and sockets.
///
/// A connection that raises no question costs no hop to this actor: asking the policy and sending are nonisolated. The
/// actor's state is the decisions made about servers.
///
/// `Sallyport` has one for all its parts. An app that composes its own parts creates one too, so that they share what
/// is known of servers and are ended together:
///
/// ```swift
/// let connector = Connector(gate: authorization, decisions: authorization)
/// let loading = URLLoadingSystem(connector: connector)
/// let sockets = SocketSystem(connector: connector)
/// ```
public actor Connector: InstancePart {
    /// The administrator's policy; nil for a connector of the system session, which has none.
    package nonisolated let gate: (any AccessGate)?
    package nonisolated let client: any ExchangeClient
    /// The TLS versions offered to servers besides 1.2 and 1.3.
    package nonisolated let control: ControlTLSVersions
    /// The TLS versions with which servers were reached.
    nonisolated let versions: TLSVersionNotes
    /// The decisions that are kept for good; nil if there is no store.
    nonisolated let store: (any DecisionStore)?
    var decisions = ConnectionDecisions()
    /// The edition under which `decisions` were made.
    var decisionsEdition: UInt64 = 0
    /// See ``DecisionMark/undos``.
    var undos: UInt64 = 0
    var questions = PendingQuestions()
    /// The policy's recent answers.
    nonisolated let ways = WayBook()
    /// The withdrawals of access; there are none without a policy.
    package nonisolated let withdrawals = Withdrawals()
    private nonisolated let marks: Marks
    private nonisolated let observation: AccessObservation?
    /// Wakes, and in the end ends, the task that frees decisions; nil without a policy, which alone withdraws.
    private nonisolated let freeing: AsyncStream<Void>.Continuation?

    /// State that is read without a hop.
    private final class Marks: Sendable {
        /// Whether any app decision exists; read by each load.
        let hasDecisions = Atomic(false)
        /// Counts the withdrawals that drop secrets. A decision made before the last one is never used after it.
        let edition = Atomic<UInt64>(0)
    }

    /// - Parameters:
    ///   - store: keeps decisions to trust a server for good; if nil, they last as long as this connector.
    ///   - versions: the notes to which the client tells its handshakes; if nil, it tells of none.
    package init(
        gate: (any AccessGate)?, client: any ExchangeClient, decisions store: (any DecisionStore)? = nil,
        control: ControlTLSVersions = ControlTLSVersions(), versions: TLSVersionNotes? = nil
    ) {
        let marks = Marks()
        let (drops, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        freeing = gate == nil ? nil : continuation
        self.gate = gate
        self.client = client
        self.store = store
        self.control = control
        self.versions = versions ?? TLSVersionNotes(control)
        self.marks = marks
        observation = gate.map { [ways, withdrawals] gate in
            gate.onAccessChange { change in
                ways.forget()
                withdrawals.note(change)
                if change.dropsSecrets {
                    marks.edition.add(1, ordering: .acquiringAndReleasing)
                    continuation.yield()
                }
                client.follow(change, of: gate)
            }
        }
        guard gate != nil else { return }
        // Decisions from before a withdrawal are never used anyway; this task only frees them at once.
        Task { [weak self] in
            for await _ in drops { await self?.dropOutdated() }
        }
    }

    // A stream whose continuation is only released does not end, and its task would never be freed.
    deinit { freeing?.finish() }

    /// Makes no connection yet.
    ///
    /// - Parameters:
    ///   - gate: says whether and how the app may connect; usually an `Authorization`.
    ///   - decisions: stores the decisions to trust a server for good; usually the `Authorization` again. Without it,
    ///     they last as long as this connector.
    ///   - controlTLSVersions: the versions of TLS that servers are offered besides 1.2 and 1.3.
    public init(
        gate: any AccessGate, decisions: (any DecisionStore)? = nil,
        controlTLSVersions: ControlTLSVersions = ControlTLSVersions()
    ) {
        let versions = TLSVersionNotes(controlTLSVersions)
        let transport = Transport(
            whenRelayBreaks: { await gate.confirmAccess() }, whenAgreed: { versions.note($0) })
        self.init(
            gate: gate, client: transport, decisions: decisions, control: controlTLSVersions, versions: versions)
    }

    /// The connector of system sessions, which have no policy.
    package init() {
        let versions = TLSVersionNotes()
        self.init(gate: nil, client: Transport(whenAgreed: { versions.note($0) }), versions: versions)
    }

    // MARK: State that is read without a hop

    /// Whether any decision about a server exists.
    package nonisolated var hasDecisions: Bool { marks.hasDecisions.load(ordering: .acquiring) }

    func noteDecisions() { marks.hasDecisions.store(true, ordering: .releasing) }

    /// The edition of the access under which a decision is made.
    nonisolated var edition: UInt64 { marks.edition.load(ordering: .acquiring) }

    // MARK: Streams

    /// Byte streams by the policy, with the default settings, as a ticket client needs them.
    public nonisolated var tunnels: any RoutedTunnels {
        ConnectorTunnels(connector: self, settings: ConnectionSettings(scope: .tunnels))
    }

    // MARK: Ends

    /// Ends the exchanges and tunnels of these scopes with `failure`, and closes their connections to new ones.
    package nonisolated func end(
        _ failure: LoadError, where isAffected: @escaping @Sendable (ConnectionPartition.Scope) -> Bool
    ) {
        client.endExchanges(with: failure) { isAffected($0.partition.scope) }
        client.closeConnections { isAffected($0.partition.scope) }
    }

    /// Keeps new requests from using the existing connections, whose network path is gone. Requests in flight continue.
    package nonisolated func retireConnections() { client.closeConnections { _ in true } }

    /// Closes all connections and ends their requests with `connectionLost`; later requests connect anew.
    package nonisolated func resetConnections() {
        end(LoadError(.connectionLost, "All connections were reset.")) { _ in true }
    }

    /// Ends everything with `sessionInvalidated` and frees the connections. Idempotent; no connection is made afterwards.
    public nonisolated func shutdown() async {
        freeing?.finish()
        await client.shutdown()
    }
}
