public import SallyportCore

/// The parts of one instance: told of each withdrawal that drops secrets, and ended together.
///
/// ```swift
/// let parts = InstanceParts(of: authorization, [loading, sockets, connector, credentials, jars])
/// …
/// await parts.shutdown()
/// store.close()
/// ```
///
/// Parts are told of withdrawals for as long as this value is kept.
public final class InstanceParts: Sendable {
    private let authorization: Authorization
    private let parts: [any InstancePart]
    private let observation: AccessObservation

    /// - Parameter parts: each is told, and ended, after those before it: what uses another part stands before that.
    public init(of authorization: Authorization, _ parts: [any InstancePart]) {
        self.authorization = authorization
        self.parts = parts
        observation = authorization.onAccessChange(awaiting: { change in
            guard change.dropsSecrets else { return }
            for part in parts { await part.withdrawn(change) }
        })
    }

    /// Ends the authorization's `run()`, then the parts, then the connections to the gateway. Idempotent. The store stays
    /// open.
    public func shutdown() async {
        authorization.shutdown()
        for part in parts { await part.shutdown() }
        await authorization.close()
    }
}
