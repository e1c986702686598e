public import SallyportCore

/// The results of trying to reach a server by each configured way.
public struct ServerReachability: Sendable, Hashable {
    /// One way.
    public struct Attempt: Sendable, Hashable {
        /// The relay, of a relayed way; nil for a direct one.
        public let relay: Endpoint?
        /// The result as a number with a name.
        public let code: DiagnosticCode
        /// What failed, and how far the attempt had come; nil if the server was reached.
        public let failure: LoadError?
        /// From the beginning of the attempt to its result.
        public let duration: Duration

        package init(relay: Endpoint?, code: DiagnosticCode, failure: LoadError?, duration: Duration) {
            self.relay = relay
            self.code = code
            self.failure = failure
            self.duration = duration
        }
    }

    /// The server that was tried.
    public let endpoint: Endpoint
    /// The route, and the rule that decided; nil if the app is not authorized.
    public let decision: RouteDecision?
    /// One attempt for the direct way, or one for each relay of the cluster, in the order of their priorities.
    public let attempts: [Attempt]
    /// The result of the best attempt; if there was none, the reason.
    public let code: DiagnosticCode

    package init(_ endpoint: Endpoint, by decision: RouteDecision?, _ attempts: [Attempt], else code: DiagnosticCode) {
        self.endpoint = endpoint
        self.decision = decision
        self.attempts = attempts
        let codes = attempts.map(\.code)
        self.code = codes.contains(.noError) ? .noError : codes.first ?? code
    }

    /// The result with each attempt changed by `body`.
    func map(_ body: (Attempt) -> Attempt) -> ServerReachability {
        ServerReachability(endpoint, by: decision, attempts.map(body), else: code)
    }
}
