public import SallyportCore

/// The parts of one instance: informed of each withdrawal that drops secrets, and shut down together.
///
/// ```swift
/// let parts = InstanceParts(of: authorization, [loading, sockets, connector, credentials, jars])
/// …
/// await parts.shutdown()
/// store.close()
/// ```
///
/// The parts are informed of withdrawals for as long as this object exists.
public final class InstanceParts: Sendable {
    private let authorization: Authorization
    private let parts: [any InstancePart]
    private let observation: AccessObservation

    /// - Parameters:
    ///   - authorization: its withdrawals reach the parts; closed after them.
    ///   - parts: informed and shut down in this order; a part stands before the parts that it uses.
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
