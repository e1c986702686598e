package import SallyportCore

/// Controls a load from outside and follows its progress: a task that can be suspended.
package protocol TransferControl: AnyObject, Sendable {
    /// Whether nothing may be read or sent now.
    var isSuspended: Bool { get }
    /// From 0 to 1; of the loads that wait for a connection of an origin, the highest gets it first.
    var priority: Double { get }

    /// Calls `listener` after each change of the above, on any thread, until it is detached.
    ///
    /// - Returns: what ``detach(_:)`` takes.
    func attach(_ listener: @escaping @Sendable () -> Void) -> UInt64
    func detach(_ number: UInt64)

    /// The load has begun: suspended or not, it ends by then.
    func began(until deadline: ContinuousClock.Instant)

    /// Returns once the load is not suspended.
    ///
    /// - Throws: ``LoadError/Code/cancelled``.
    func proceed() async throws(LoadError)

    /// The load waits for something that is not its server, or goes on.
    func waits(_ isWaiting: Bool)

    /// So many bytes of the request's body were handed to the connection; fewer than before where it is sent again.
    func sent(_ octets: Int64, of total: Int64?)
}
