package import SallyportCore

/// Controls a load from outside and follows its progress: a task that can be suspended.
package protocol TransferControl: AnyObject, Sendable {
    /// Whether nothing may be read or sent now.
    var isSuspended: Bool { get }
    /// From 0 to 1; of the loads that wait for a connection to an origin, the one with the highest priority gets it
    /// first.
    var priority: Double { get }

    /// Calls `listener` after each change of the above, on any thread, until it is detached.
    ///
    /// - Returns: the number for ``detach(_:)``.
    func attach(_ listener: @escaping @Sendable () -> Void) -> UInt64
    func detach(_ number: UInt64)

    /// The load has begun; it must end by the deadline, even if it is suspended.
    func began(until deadline: ContinuousClock.Instant)

    /// Returns once the load is not suspended.
    ///
    /// - Throws: ``LoadError/Code/cancelled``.
    func proceed() async throws(LoadError)

    /// The load starts or stops waiting for something other than its server.
    func waits(_ isWaiting: Bool)

    /// The number of bytes of the request's body that were passed to the connection; it decreases if the body is sent
    /// again.
    func sent(_ bytes: Int64, of total: Int64?)
}
