internal import SallyportCore
internal import SallyportLoading

/// Decides whether a request goes on to the next server after a failure. A value.
struct ServerFailover {
    private let isIdempotent: Bool
    let isReplayable: Bool

    init(_ request: PathRequest) {
        isIdempotent = request.isIdempotent
        isReplayable = request.body?.isReplayable ?? true
    }

    /// - Parameter wasAnswered: whether any server has answered a request of the load, such as with a redirect: the
    ///   failure is then of another request than the one that would be repeated.
    func goesOn(after failure: LoadError, wasAnswered: Bool) -> Bool {
        guard isReplayable, !Self.isOfLoad(failure.code) else { return false }
        return isIdempotent || (!wasAnswered && Self.isBeforeRequest(failure))
    }

    /// Another server would not help.
    private static func isOfLoad(_ code: LoadError.Code) -> Bool {
        switch code {
        case .connectionLost, .idleTimeout, .cannotFindHost, .cannotConnect, .tlsFailed, .serverNotTrusted,
            .clientCertificateRefused, .noCommonTLSVersion, .relayUnreachable, .relayNotTrusted, .relayRefused,
            .relayProtocol, .proxyUnreachable, .proxyNotTrusted, .proxyRefused, .proxyProtocol, .refusedByPolicy,
            .protocolViolation:
            false
        default: true
        }
    }

    /// Whether no byte of a request was sent. A policy that changed may have ended a request that was sent.
    private static func isBeforeRequest(_ failure: LoadError) -> Bool {
        switch failure.step {
        case .nameLookup, .connect, .relayTLS, .relayConnect, .proxyTLS, .proxyConnect, .serverTLS: true
        case .routing: failure.code == .relayUnreachable
        default: false
        }
    }
}
