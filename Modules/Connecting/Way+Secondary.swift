internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

extension Way {
    /// Tries the first cluster of relays, and the secondary one if no relay of the first can be used; in the other
    /// order for a while after that was so.
    ///
    /// Either nothing was sent to a server by then, or the request is one that may be repeated: see
    /// ``ExchangeRequest/hasOtherCluster``. A relay that refuses because of the policy or the server, or that is not
    /// trusted, is no reason to try the other cluster.
    ///
    /// - Parameter attempt: is told through which cluster it goes.
    /// - Throws: the error of the last attempt.
    func firstReached<Result: Sendable>(
        recorder: LoadRecorder?, _ attempt: (ClusterAttempt) async throws(LoadError) -> Result
    ) async throws(LoadError) -> Result {
        let begins = relay?.avoidance.holds() ?? false
        do throws(LoadError) {
            return try await observed(ClusterAttempt(isOfSecondary: begins, isFirst: true), attempt)
        } catch {
            guard error.saysThatNoRelayServes, !Task.isCancelled else { throw error }
            recorder?.decided(.retry, "\(error.code)", because: "no relay of the other cluster could be used")
        }
        return try await observed(ClusterAttempt(isOfSecondary: !begins, isFirst: false), attempt)
    }

    private func observed<Result: Sendable>(
        _ cluster: ClusterAttempt, _ attempt: (ClusterAttempt) async throws(LoadError) -> Result
    ) async throws(LoadError) -> Result {
        do throws(LoadError) {
            let result = try await attempt(cluster)
            if !cluster.isOfSecondary { relay?.avoidance.finish() }
            return result
        } catch {
            if !cluster.isOfSecondary, error.saysThatNoRelayServes { relay?.avoidance.begin() }
            throw error
        }
    }
}

/// One of the two clusters of relays through which a request or stream is tried.
struct ClusterAttempt {
    let isOfSecondary: Bool
    /// The other cluster is tried after the first attempt alone.
    let isFirst: Bool
}

extension LoadError {
    /// Whether no relay of the cluster was reached, or the last one says that it cannot serve now. A relay that fell silent
    /// in its handshake, or that ended the connection before it had answered CONNECT, counts as one that was not reached.
    fileprivate var saysThatNoRelayServes: Bool {
        code == .relayUnreachable || (step == .relayTLS && [.connectionLost, .idleTimeout].contains(code))
            || (step == .relayConnect && code == .connectionLost)
            || (underlying as? RelayRefusal)?.avoidance != nil
    }
}
