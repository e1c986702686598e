package import SallyportCore
internal import SallyportLoading
internal import SallyportWire

/// The gateways that the instance knows of: those of the last verified configuration, and that of its activation.
struct KnownGateways: Sendable {
    fileprivate var listed: [ConfigurationDocument.Gateway] = []
    fileprivate(set) var order = FailoverOrder()

    /// The gateways that a configuration lists, and that of the activation.
    ///
    /// - Parameters:
    ///   - document: verified.
    ///   - activated: the gateway of the activation. If the configuration lists others and not this one, it is asked
    ///     after them.
    static func all(
        _ document: ConfigurationDocument?, activatedBy activated: Endpoint
    ) -> [ConfigurationDocument.Gateway] {
        let listed = document?.gateways ?? []
        guard !listed.contains(where: { $0.endpoint == activated }) else { return listed }
        return listed + [.init(activated, priority: listed.isEmpty ? 1 : .max)]
    }

    /// Takes over the gateways of a configuration: see ``all(_:activatedBy:)``.
    mutating func follow(
        _ document: ConfigurationDocument?, activatedBy activated: Endpoint,
        using generator: inout some RandomNumberGenerator
    ) {
        let new = Self.all(document, activatedBy: activated)
        guard new != listed else { return }
        var order = FailoverOrder(new, endpoint: \.endpoint, priority: \.priority) {
            $0.shuffled(using: &generator)
        }
        order.takeFailures(of: self.order)
        (listed, self.order) = (new, order)
    }

    mutating func note(_ outcome: GatewayRace.Outcome, at now: ContinuousClock.Instant) {
        for gateway in outcome.failed { order.failed(gateway, at: now) }
        if let answered = outcome.answered { order.answered(answered) }
    }

    mutating func failed(_ gateway: Endpoint, at now: ContinuousClock.Instant) { order.failed(gateway, at: now) }

    mutating func answered(_ gateway: Endpoint) { order.answered(gateway) }
}

extension Authorization {
    /// The gateways in the order in which they are to be asked; empty if the store is not activated.
    package func gatewaysToAsk() -> [Endpoint] {
        guard let identity, let activated = try? identity.endpoint() else {
            gateways = KnownGateways()
            return []
        }
        gateways.follow(document, activatedBy: activated, using: &random)
        return gateways.order.order(at: .now)
    }

    /// Whether there is a gateway that has not failed a moment ago.
    var hasFreshGateway: Bool { gateways.order.hasFresh(at: .now) }

    /// Sends a request to the first of the fleet's gateways that answers, whichever the request names. Every request of
    /// an instance may be sent to two of them.
    ///
    /// - Throws: the error of the first one, if none answers.
    func exchange(_ request: ControlRequest) async throws(LoadError) -> ControlAnswer {
        let order = gatewaysToAsk()
        guard order.count > 1 else { return try await client.send(request) }
        let outcome = await GatewayRace(client: client, clock: clock, request: request, gateways: order).run()
        gateways.note(outcome, at: .now)
        return try outcome.result.get()
    }
}

/// The gateways of an activated instance's fleet, as one.
struct FleetClient: ControlClient {
    private let authorization: Authorization

    init(_ authorization: Authorization) { self.authorization = authorization }

    func send(_ request: ControlRequest) async throws(LoadError) -> ControlAnswer {
        try await authorization.exchange(request)
    }

    func open(_ request: ControlRequest) async throws(LoadError) -> ControlStream {
        try await authorization.client.open(request)
    }

    func retire(_ identity: ClientIdentity) { authorization.client.retire(identity) }
}
