public import SallyportCore
public import SallyportLoading
package import SallyportTransport
internal import Synchronization

/// The one way out of an app: takes a destination, and gives an exchange or a stream of bytes.
///
/// Whatever connects goes through the same bracket: the policy is asked; the connection is made by the route that it
/// names and by no other, with the trust, pins, certificate, proxy and versions of TLS of the settings; and the policy is
/// asked again once there is a connection. Loads, session streams, plugins' tunnels, those of ticket clients, and sockets have
/// all of it.
///
/// A connection about which there is nothing to ask costs no hop to this actor: asking the policy and sending are
/// nonisolated. What is isolated is what was decided about servers, and with which versions of TLS they were reached.
///
/// `Sallyport` has one for all its parts. An app that composes its own makes one too, so that its parts know the same of
/// servers and are ended together:
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
    /// What is offered to servers besides TLS 1.2 and 1.3.
    package nonisolated let control: ControlTLSVersions
    /// Decisions for good; nil where there is no store.
    nonisolated let store: (any DecisionStore)?
    var decisions = ConnectionDecisions()
    /// The edition of what was decided.
    var decisionsEdition: UInt64 = 0
    var questions = PendingQuestions()
    var history = TLSVersionHistory()
    private nonisolated let marks: Marks
    private nonisolated let observation: AccessObservation?

    /// What is read without a hop.
    private final class Marks: Sendable {
        /// Whether there has been any decision of an app: read by each load.
        let hasDecisions = Atomic(false)
        /// Counts the withdrawals that drop secrets. What was decided before the last is never used after it.
        let edition = Atomic<UInt64>(0)
    }

    /// - Parameter store: keeps what is trusted for good; without one, it is trusted for as long as this lives.
    package init(
        gate: (any AccessGate)?, client: any ExchangeClient, decisions store: (any DecisionStore)? = nil,
        control: ControlTLSVersions = ControlTLSVersions()
    ) {
        let marks = Marks()
        let (withdrawals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.gate = gate
        self.client = client
        self.store = store
        self.control = control
        self.marks = marks
        observation = gate.map { gate in
            gate.onAccessChange { change in
                if change.dropsSecrets {
                    marks.edition.add(1, ordering: .acquiringAndReleasing)
                    continuation.yield()
                }
                client.follow(change, of: gate)
            }
        }
        // Ends with the observation, which has the other end of the stream. What was decided is never used after a
        // withdrawal; this only frees it at once.
        Task { [weak self] in
            for await _ in withdrawals { await self?.dropOutdated() }
        }
    }

    /// Makes no connection yet.
    ///
    /// - Parameters:
    ///   - gate: says whether and how the app may connect: an `Authorization`, as a rule.
    ///   - decisions: keeps what is trusted for good: the `Authorization` again; without one, it is trusted for as long as
    ///     this lives.
    ///   - controlTLSVersions: what is offered to servers besides TLS 1.2 and 1.3.
    public init(
        gate: any AccessGate, decisions: (any DecisionStore)? = nil,
        controlTLSVersions: ControlTLSVersions = ControlTLSVersions()
    ) {
        self.init(
            gate: gate, client: Transport(whenRelayBreaks: { await gate.confirmAccess() }), decisions: decisions,
            control: controlTLSVersions)
    }

    // MARK: What is read without a hop

    /// Whether anything was decided about any server.
    package nonisolated var hasDecisions: Bool { marks.hasDecisions.load(ordering: .acquiring) }

    func noteDecisions() { marks.hasDecisions.store(true, ordering: .releasing) }

    /// Of the access under which something is decided.
    nonisolated var edition: UInt64 { marks.edition.load(ordering: .acquiring) }

    // MARK: Streams

    /// Streams of bytes by the policy, with the default settings: what a ticket client is given.
    public nonisolated var tunnels: any RoutedTunnels {
        ConnectorTunnels(connector: self, settings: ConnectionSettings(scope: .tunnels))
    }

    // MARK: Versions of TLS

    /// A handshake was good.
    func reached(_ endpoint: Endpoint, withLowerVersions isLower: Bool) {
        history.reached(endpoint, withLowerVersions: isLower, at: .now)
    }

    // MARK: Ends

    /// Ends the exchanges and tunnels of the scopes with `failure`, and lets no new one use their connections.
    package nonisolated func end(
        _ failure: LoadError, where isAffected: @escaping @Sendable (ConnectionPartition.Scope) -> Bool
    ) {
        client.endExchanges(with: failure) { isAffected($0.partition.scope) }
        client.closeConnections { isAffected($0.partition.scope) }
    }

    /// Lets nothing new use the connections that there are: they lead nowhere any more. What is in flight goes on.
    package nonisolated func retireConnections() { client.closeConnections { _ in true } }

    /// Closes all connections, and ends what goes on over them with `connectionLost`; the next are made anew.
    package nonisolated func resetConnections() {
        end(LoadError(.connectionLost, "All connections were reset.")) { _ in true }
    }

    /// Ends everything with `sessionInvalidated` and frees the connections. Idempotent; nothing is connected afterwards.
    public nonisolated func shutdown() async { await client.shutdown() }
}
