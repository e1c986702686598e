internal import Logging
internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport
internal import Synchronization

/// What the sessions of one instance share, or the system sessions of the process: the policy if there is one, the
/// connections, the handlers, and the switch that turns loading on and off.
///
/// Two locks: the registry's, and that of the loads which no transport knows. Both are leaves. The switch is two atomics,
/// because each load reads it.
final class LoadingEngine: Sendable {
    /// What system sessions share: connections of their own, made directly from this machine. Never shut down, since
    /// the system session is always available.
    static let process = LoadingEngine(system: Connector())

    /// Nil for system sessions, which have no policy.
    let gate: (any AccessGate)?
    let connector: Connector
    let registry: ProtocolRegistry
    let loads = LoadsUnderWay()
    let withdrawals: Withdrawals
    /// Whether the gateway can be reached; nil if that is not known.
    let infrastructure: (any InfrastructureStatus)?
    /// Stages of other modules, between Decoding and the connector.
    let stages: SessionStages
    /// Names principals after requests' own credentials; nil if they get no names.
    let principals: PrincipalNames?
    /// Which hosts belong to one site; nil if there is no list of public suffixes.
    let sites: (any SiteRules)?
    let logger: Logger
    private let isSwitchedOn = Atomic(true)
    /// A session of an earlier generation is over, and after the shutdown every session.
    let generations = Generations()
    private let observation: AccessObservation?

    init(
        gate: (any AccessGate)?, connector: Connector, stages: @escaping SessionStages,
        principals: PrincipalNames? = PrincipalNames(),
        infrastructure: (any InfrastructureStatus)? = nil, sites: (any SiteRules)? = nil, logger: Logger
    ) {
        self.infrastructure = infrastructure
        self.sites = sites
        self.gate = gate
        self.connector = connector
        withdrawals = connector.withdrawals
        self.stages = stages
        self.principals = principals
        self.logger = logger
        for item in connector.control.ineffective {
            logger.notice("A version of TLS is offered in any case.", metadata: ["setting": "\(item)"])
        }
        let wasAuthorized = gate.map { WasAuthorized($0) }
        registry = ProtocolRegistry(logger: logger) { wasAuthorized?.isTrue ?? false }
        observation = gate?.onAccessChange { [loads] change in
            if case .open = change.to { wasAuthorized?.note() }
            guard let failure = change.ending.map({ LoadError($0) }) else { return }
            loads.end(with: failure)
        }
    }

    /// The engine of system sessions: without policy, stages, names of principals and list of public suffixes.
    ///
    /// - Parameter connector: has no policy either.
    convenience init(system connector: Connector) {
        self.init(
            gate: nil, connector: connector, stages: { _ in [] }, principals: nil,
            logger: Logger(label: "sallyport.system"))
    }

    /// The engine of system sessions.
    ///
    /// - Parameter client: makes the connections in place of a transport.
    convenience init(client: any ExchangeClient) { self.init(system: Connector(gate: nil, client: client)) }

    var isEnabled: Bool { isSwitchedOn.load(ordering: .acquiring) }
    var currentGeneration: Int { generations.current }

    /// Turns loading on. The handler is registered again, so that it is asked before those already registered.
    /// Has no effect after ``shutdown()``.
    func enable() {
        guard !generations.areOver else { return }
        let wasOn = isSwitchedOn.exchange(true, ordering: .acquiringAndReleasing)
        if !wasOn { registry.follow { isEnabled } }
    }

    /// Turns loading off, and ends the loads of all sessions except the one with the tag.
    func disable(except sharedTag: String) {
        guard isSwitchedOn.exchange(false, ordering: .acquiringAndReleasing) else { return }
        generations.next()
        registry.follow { isEnabled }
        end(Self.invalidated()) { $0 != sharedTag }
    }

    /// Ends all loads, and refuses new ones.
    func shutdown() {
        generations.end()
        isSwitchedOn.store(false, ordering: .releasing)
        end(Self.invalidated())
    }

    /// Ends the loads of the sessions whose tag matches.
    func end(_ failure: LoadError, where isAffected: @escaping @Sendable (String) -> Bool = { _ in true }) {
        connector.end(failure) { scope in
            if case .session(let tag) = scope { isAffected(tag) } else { false }
        }
        loads.end(with: failure, where: isAffected)
    }

    /// - Throws: `notAuthorized` or `withdrawn`, else `disabled`.
    func checkSwitchedOn() throws(LoadError) {
        guard !isEnabled else { return }
        if generations.areOver { throw Self.invalidated() }
        try checkAuthorized()
        throw LoadError(.disabled, at: .routing, "Secure communication is switched off; call enable().")
    }

    /// - Throws: `notAuthorized` or `withdrawn`; never without a policy.
    func checkAuthorized() throws(LoadError) { try gate?.requireAuthorized() }

    static func invalidated() -> LoadError { LoadError(.sessionInvalidated, "The session was invalidated.") }
}
