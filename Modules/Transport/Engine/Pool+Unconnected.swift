internal import SallyportCore
internal import SallyportLoading

extension Pool {
    /// The error of an attempt whose time to connect is over while it waits for another's connection, to share it.
    func unconnected(_ attempt: Attempt, within limit: Duration) -> LoadError {
        LoadError(
            code(for: attempt), at: .connect, "No connection that could be shared was made within \(limit).",
            underlying: ConnectTimeout())
    }

    /// The relay or the proxy was not reached, unless the attempt that dials has come past it.
    private func code(for attempt: Attempt) -> LoadError.Code {
        let isPast = allMembers.contains { other in
            other.attempt !== attempt && other.attempt.claim?.origin == attempt.claim?.origin
                && [.proxyConnect, .relayConnect, .serverTLS].contains(other.attempt.reachedStep)
        }
        if isPast { return .cannotConnect }
        if configuration.path.relay != nil { return .relayUnreachable }
        return configuration.path.proxy == nil ? .cannotConnect : .proxyUnreachable
    }
}
