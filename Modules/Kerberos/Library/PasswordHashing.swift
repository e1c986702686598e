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
    ///   - deadline: after which no call begins. One that has begun is waited for.
    /// - Throws: ``KerberosError/Code-swift.struct/kdcUnreachable`` if its turn did not come in time, or the task was
    ///   cancelled before.
    func result<Value: Sendable>(
        of realm: String, until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable () -> Result<Value, KerberosError>
    ) async throws(KerberosError) -> Value {
        guard await slots.enter(realm, until: deadline) else { throw Self.missedTurn }
        // The turn may have come together with the end of the wait.
        guard !Task.isCancelled, ContinuousClock.now < deadline else {
            await slots.leave(realm)
            throw Self.missedTurn
        }
        let result = await OwnThread.result("krb5-password", of: body)
        await slots.leave(realm)
        guard let result else { throw KerberosError(.other, "A thread for krb5 could not be started.") }
        return try result.get()
    }

    private static var missedTurn: KerberosError {
        guard !Task.isCancelled else {
            return KerberosError(.kdcUnreachable, "The task was cancelled.", underlying: LoadError.cancelled())
        }
        let late = LoadError(.idleTimeout, at: .response, "The time for the ticket is over.")
        return KerberosError(.kdcUnreachable, "Too many sign-ins are in progress.", underlying: late)
    }
}
