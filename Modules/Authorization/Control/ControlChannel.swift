internal import SallyportBase
package import SallyportCore
package import SallyportLoading
internal import SallyportWire

/// How the event stream fares, for whoever follows the link to the gateway.
package enum ControlChannel: Sendable, Hashable {
    /// It was not opened yet, or ``Authorization/run()`` does not run.
    case none
    /// Something came over it, for the `heard`th time: heartbeats come each 2 s.
    case open(heard: UInt64, over: ConnectionFacts?)
    case lost
    /// Another has it; this instance stays away for a minute.
    case displaced
}

/// How often somebody asked for the event stream to be opened at once, and for it to be given up first.
struct ChannelCalls: Sendable, Hashable {
    var opens: UInt64 = 0
    var drops: UInt64 = 0
}

extension Authorization {
    /// Each state of the event stream from now on, the present one first; who falls behind sees the newest.
    package nonisolated func channelChanges() -> AsyncStream<ControlChannel> { channel.values() }

    /// Opens the event stream without waiting for its time, unless another has it.
    ///
    /// - Parameter drops: whether the one there is, or the try to open one, is given up first, and idle connections to the
    ///   gateway with it.
    package nonisolated func callChannel(drops: Bool) {
        calls.change { calls in
            calls?.opens += 1
            if drops { calls?.drops += 1 }
        }
    }

    /// Asks the gateway for a sign of life, over a connection made for it, without a certificate of the instance.
    ///
    /// - Returns: the connection.
    /// - Throws: `notAuthorized` where the store is not activated, so that there is nobody to ask.
    @discardableResult
    package func probe(within limit: Duration) async throws(LoadError) -> ConnectionFacts? {
        guard let identity, let gateway = try? identity.endpoint() else {
            throw LoadError(.notAuthorized, at: .routing, "The app is not activated.")
        }
        var request = ControlRequest(
            gateway: gateway, target: ControlAPI.Path.health, trust: .authorities(identity.trust.authorities),
            limit: ControlAPI.Limits.error, timeout: limit)
        request.isAlone = true
        let answer = try await client.send(request)
        guard answer.status == 200 else {
            throw LoadError(.protocolViolation, at: .response, "The gateway answers with \(answer.status).")
        }
        return answer.connection
    }
}
