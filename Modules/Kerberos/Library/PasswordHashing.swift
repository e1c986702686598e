internal import SallyportBase
internal import SallyportCore

/// Calls of libkrb5 that hash a password as often as a KDC says. That may take half a minute and cannot be stopped, so
/// each has a thread of its own: it must not hold up the cooperative pool, and so all other tasks. Only a few run at
/// once for a realm, because each occupies a core: answers that are forged in a KDC's name could take all cores otherwise,
/// with one thread for each user who signs in.
struct PasswordHashing: Sendable {
    /// The most calls for one realm at once: on half of the processors that the process may use.
    static let limit = max(1, ProcessorCount.available / 2)

    private let slots: RealmSlots

    init(limit: Int = Self.limit) { slots = RealmSlots(limit: limit) }

    /// How many calls wait for their turn.
    var waiterCount: Int { get async { await slots.waiterCount } }

    /// - Parameters:
    ///   - realm: the realm whose KDC asks for it.
    ///   - deadline: after which no call begins, and none is waited for. One that has begun then goes on, and keeps its
    ///     turn to its end.
    /// - Throws: ``KerberosError/Code-swift.struct/kdcUnreachable`` if there was no result in time, or the task was
    ///   cancelled before.
    func result<Value: Sendable>(
        of realm: String, until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable () -> Result<Value, KerberosError>
    ) async throws(KerberosError) -> Value {
        let busy = "Too many sign-ins are in progress."
        guard await slots.enter(realm, until: deadline) else { throw Self.late(busy) }
        // The turn may have come together with the end of the wait.
        guard !Task.isCancelled, ContinuousClock.now < deadline else {
            await slots.leave(realm)
            throw Self.late(busy)
        }
        let results = begin(body, in: realm)
        let first = await untilDeadline(deadline) { () async -> Result<Value, KerberosError>? in
            for await result in results { return result }
            return nil
        }
        guard let result = first ?? nil else { throw Self.late("The KDC has the password hashed for too long.") }
        return try result.get()
    }

    /// Begins a call, in its turn. The turn ends with the call and not with the wait for it, which may be shorter, so
    /// that no more calls run at once than there are turns.
    ///
    /// - Returns: the one result.
    private func begin<Value: Sendable>(
        _ body: @escaping @Sendable () -> Result<Value, KerberosError>, in realm: String
    ) -> AsyncStream<Result<Value, KerberosError>> {
        let (results, continuation) = AsyncStream.makeStream(of: Result<Value, KerberosError>.self)
        Task { [slots] in
            let result = await OwnThread.result("krb5-password", of: body)
            await slots.leave(realm)
            continuation.yield(
                result ?? .failure(KerberosError(.other, "A thread for krb5 could not be started.")))
            continuation.finish()
        }
        return results
    }

    private static func late(_ message: String) -> KerberosError {
        guard !Task.isCancelled else {
            return KerberosError(.kdcUnreachable, "The task was cancelled.", underlying: LoadError.cancelled())
        }
        let late = LoadError(.idleTimeout, at: .response, "The time for the ticket is over.")
        return KerberosError(.kdcUnreachable, message, underlying: late)
    }
}
