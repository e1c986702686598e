internal import SallyportBase
package import SallyportCore
package import SallyportLoading
internal import SallyportWire

/// The state of the event stream, for observers of the link to the gateway.
package enum ControlChannel: Sendable, Hashable {
    /// It was not opened yet, or ``Authorization/run()`` does not run.
    case none
    /// Something arrived over it, for the `heard`th time: heartbeats come every 2 s.
    case open(heard: UInt64, over: ConnectionFacts?)
    case lost
    /// Another process has it; this instance does not open it for a minute.
    case displaced
}

/// Counts the requests to open the event stream at once, and those to close it first.
struct ChannelCalls: Sendable, Hashable {
    var opens: UInt64 = 0
    var drops: UInt64 = 0
}

extension Authorization {
    /// Each state of the event stream from now on, beginning with the current one; a slow reader skips to the newest.
    package nonisolated func channelChanges() -> AsyncStream<ControlChannel> { channel.values() }

    /// Opens the event stream before its next attempt is due, unless another process has it.
    ///
    /// - Parameter drops: whether the existing stream, or the attempt to open one, is cancelled first, and idle
    ///   connections to the gateway are closed.
    package nonisolated func callChannel(drops: Bool) {
        calls.change { calls in
            calls?.opens += 1
            if drops { calls?.drops += 1 }
        }
    }

    /// Sends a probe to the gateway, or to another one of its fleet if it does not answer, over a new connection, without
    /// the instance's certificate.
    ///
    /// - Returns: the connection.
    /// - Throws: `notAuthorized` if the store is not activated, so that there is no gateway.
    @discardableResult
    package func probe(within limit: Duration) async throws(LoadError) -> ConnectionFacts? {
        guard let identity, let gateway = try? identity.endpoint() else {
            throw LoadError(.notAuthorized, at: .routing, "The app is not activated.")
        }
        var request = ControlRequest(
            gateway: gateway, target: ControlAPI.Path.health, trust: .authorities(identity.trust.authorities),
            limit: ControlAPI.Limits.error, timeout: limit)
        request.isAlone = true
        let answer = try await exchange(request)
        guard answer.status == 200 else {
            throw LoadError(.protocolViolation, at: .response, "The gateway answers with \(answer.status).")
        }
        return answer.connection
    }
}
