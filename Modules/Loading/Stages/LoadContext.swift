public import Logging
public import SallyportBase
public import SallyportCore

/// The values that are common to all stages and hops of one load.
///
/// One reference, since it is passed from stage to stage. A part of a load with different values, such as the proof for
/// one request of an authentication, gets another one.
public struct LoadContext: Sendable {
    private var parts: Parts

    /// Unique within the process; on each log line of the load.
    public var requestID: UInt64 { parts.values.requestID }
    /// For the stages' messages. It carries no values of the load: add ``requestID`` as the metadata `request`, as the
    /// library's own stages do.
    public var logger: Logger { parts.values.terms.logger }
    /// The deadline of the whole load.
    public var deadline: ContinuousClock.Instant { parts.values.deadline }
    /// The time without a byte after which the load fails.
    public var idleTimeout: Duration { parts.values.idleTimeout }
    /// The identity in whose name the request is made. Stages keep what they remember of different principals apart.
    public var principal: Principal { parts.values.principal }
    /// The length up to which the caller reads the body at once; nil if the body is streamed to a reader that may be
    /// slow.
    public var collectsUpTo: ByteCount? { parts.values.collectsUpTo }
    /// Answers the load's challenges; nil for default handling.
    public var responder: (any ChallengeResponder)? { parts.values.responder }
    /// Whether a responder answers the load's challenges.
    package var hasResponder: Bool { parts.values.responder != nil }
    /// The proxies of direct routes.
    public var proxies: ProxySettings { parts.values.terms.proxies }

    /// A context for loads that no session makes, such as those of tests.
    ///
    /// - Parameters:
    ///   - requestID: unique within the process.
    ///   - logger: for the stages.
    ///   - deadline: at which the load ends with `resourceTimeout`.
    ///   - idleTimeout: the time without a byte after which the load ends with `idleTimeout`.
    ///   - principal: whose credentials, cookies, cache entries and connections are used.
    ///   - collectsUpTo: the length up to which the caller reads the body at once; nil if the body streams.
    ///   - responder: answers challenges; nil for default handling.
    ///   - proxies: of direct routes; by default none.
    public init(
        requestID: UInt64, logger: Logger, deadline: ContinuousClock.Instant, idleTimeout: Duration,
        principal: Principal, collectsUpTo: ByteCount? = nil, responder: (any ChallengeResponder)? = nil,
        proxies: ProxySettings = .none
    ) {
        self.init(
            Values(
                requestID: requestID, deadline: deadline, idleTimeout: idleTimeout, principal: principal,
                collectsUpTo: collectsUpTo, responder: responder, terms: LoadTerms(logger: logger, proxies: proxies)))
    }

    package init(_ values: consuming Values) { parts = Parts(values) }
}

extension LoadContext {
    /// The content of a context.
    package struct Values: Sendable {
        package var requestID: UInt64
        package var deadline: ContinuousClock.Instant
        package var idleTimeout: Duration
        package var principal: Principal
        package var collectsUpTo: ByteCount?
        package var responder: (any ChallengeResponder)?
        package var control: (any TransferControl)?
        package var recorder: LoadRecorder?
        package var signer: (any RequestSigner)?
        package var connection: ConnectionUse?
        package var methods: MethodPreferences
        package var terms: LoadTerms

        package init(
            requestID: UInt64, deadline: ContinuousClock.Instant, idleTimeout: Duration, principal: Principal,
            collectsUpTo: ByteCount?, responder: (any ChallengeResponder)?,
            control: (any TransferControl)? = nil, recorder: LoadRecorder? = nil,
            methods: MethodPreferences = MethodPreferences(), terms: LoadTerms
        ) {
            self.requestID = requestID
            self.deadline = deadline
            self.idleTimeout = idleTimeout
            self.principal = principal
            self.collectsUpTo = collectsUpTo
            self.responder = responder
            self.control = control
            self.recorder = recorder
            self.methods = methods
            self.terms = terms
        }
    }

    private final class Parts: Sendable {
        let values: Values
        init(_ values: consuming Values) { self.values = values }
    }

    private func with(_ change: (inout Values) -> Void) -> Parts {
        var values = parts.values
        change(&values)
        return Parts(values)
    }

    /// The task to which the load belongs; nil if the load cannot be suspended or observed.
    package var control: (any TransferControl)? {
        get { parts.values.control }
        set { parts = with { $0.control = newValue } }
    }

    /// Which methods answer challenges, and in which order they are tried.
    package var methods: MethodPreferences {
        get { parts.values.methods }
        set { parts = with { $0.methods = newValue } }
    }

    /// Records the load; nil if the load is not recorded.
    package var recorder: LoadRecorder? {
        get { parts.values.recorder }
        set { parts = with { $0.recorder = newValue } }
    }

    /// Makes the proof of identity when the request is about to be sent; nil if the request's fields already contain
    /// it.
    package var signer: (any RequestSigner)? {
        get { parts.values.signer }
        set { parts = with { $0.signer = newValue } }
    }

    /// Whether a proof is still to be made.
    package var isToBeSigned: Bool { parts.values.signer != nil }

    /// The connection that the request is sent over; nil if it shares those of its principal.
    package var connection: ConnectionUse? {
        get { parts.values.connection }
        set { parts = with { $0.connection = newValue } }
    }

    /// Identifies the session, so that its connections are kept apart from others.
    package var session: String {
        get { parts.values.terms.session }
        set { parts = with { $0.terms = $0.terms.changed(session: newValue) } }
    }

    /// The most connections that the session has to one origin at once.
    package var connectionsPerOrigin: Int {
        get { parts.values.terms.connectionsPerOrigin }
        set { parts = with { $0.terms = $0.terms.changed(connectionsPerOrigin: newValue) } }
    }

    /// The trust settings, the client certificates and the cookie jar of the session: a stored response of another
    /// session can be used only if it was received under equal ones.
    package var trust: TrustScopes {
        get { parts.values.terms.trust }
        set { parts = with { $0.terms = $0.terms.changed(trust: newValue) } }
    }

    /// Whether no direct route uses a proxy.
    package var hasNoProxies: Bool { parts.values.terms.hasNoProxies }

    /// What lets the load go on; nil if it belongs to no session.
    package var permission: (any SessionPermission)? { parts.values.terms.permission }
}

/// The values that are common to all loads of one session.
package final class LoadTerms: Sendable {
    package let logger: Logger
    package let proxies: ProxySettings
    package let session: String
    package let connectionsPerOrigin: Int
    package let trust: TrustScopes
    package let permission: (any SessionPermission)?
    /// Read by each load; comparing the settings would cost more.
    package let hasNoProxies: Bool

    package init(
        logger: Logger, proxies: ProxySettings, session: String = "", connectionsPerOrigin: Int = 6,
        trust: TrustScopes = .unnamed, permission: (any SessionPermission)? = nil
    ) {
        self.logger = logger
        self.proxies = proxies
        self.session = session
        self.connectionsPerOrigin = connectionsPerOrigin
        self.trust = trust
        self.permission = permission
        hasNoProxies = proxies == .none
    }

    fileprivate func changed(
        session: String? = nil, connectionsPerOrigin: Int? = nil, trust: TrustScopes? = nil
    ) -> LoadTerms {
        LoadTerms(
            logger: logger, proxies: proxies, session: session ?? self.session,
            connectionsPerOrigin: connectionsPerOrigin ?? self.connectionsPerOrigin, trust: trust ?? self.trust,
            permission: permission)
    }
}
