package import SallyportCore
package import SallyportTransport

/// The one way out of an app: takes a destination, and gives an exchange or a stream of bytes.
///
/// Whatever connects goes through the same bracket: the policy is asked; the connection is made by the route that it
/// names and by no other, with the trust, pins, certificate, proxy and versions of TLS of the settings; and the policy is
/// asked again once there is a connection. Loads, session streams, plugins' tunnels, those of ticket clients, and sockets have
/// all of it.
///
/// A connection about which there is nothing to ask costs no hop to this actor: asking the policy and sending are
/// nonisolated. What is isolated is which servers were reached with which versions of TLS.
package actor Connector {
    /// The administrator's policy; nil for a connector of the system session, which has none.
    package nonisolated let gate: (any AccessGate)?
    package nonisolated let client: any ExchangeClient
    /// What the app has decided about servers' chains and its own certificates.
    package nonisolated let decisions: ConnectionDecisions
    /// What is offered to servers besides TLS 1.2 and 1.3.
    package nonisolated let control: ControlTLSVersions
    private var history = TLSVersionHistory()
    private nonisolated let observation: AccessObservation?

    /// - Parameter store: keeps what is trusted for good; without one, it is trusted for as long as this lives.
    package init(
        gate: (any AccessGate)?, client: any ExchangeClient, decisions store: (any DecisionStore)? = nil,
        control: ControlTLSVersions = ControlTLSVersions()
    ) {
        let decisions = ConnectionDecisions(store: store)
        self.gate = gate
        self.client = client
        self.decisions = decisions
        self.control = control
        observation = gate.map { gate in
            gate.onAccessChange { change in
                if change.dropsSecrets { decisions.clear() }
                client.follow(change, of: gate)
            }
        }
    }

    /// One whose connections are made by a transport of its own.
    package init(
        gate: any AccessGate, decisions store: (any DecisionStore)? = nil,
        control: ControlTLSVersions = ControlTLSVersions()
    ) {
        self.init(
            gate: gate, client: Transport(whenRelayBreaks: { await gate.confirmAccess() }), decisions: store,
            control: control)
    }

    // MARK: Versions of TLS

    /// What a server is offered next.
    ///
    /// - Returns: what to offer now, whether that is the fall-back, and what to offer once more where a handshake with it
    ///   fails.
    func offer(_ offer: TLSVersionOffer, to endpoint: Endpoint) -> TLSVersionStep {
        history.step(offer, to: endpoint, at: .now)
    }

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

    /// Ends everything and frees the connections. Idempotent; nothing is connected afterwards.
    package nonisolated func shutdown() async { await client.shutdown() }
}
