internal import SallyportBase
package import SallyportCore

/// What lets the loads and streams of a session go on: that the session lasts, and that access is not withdrawn.
package protocol SessionPermission: Sendable {
    /// Each request asks, so this costs two atomic reads.
    ///
    /// - Throws: `notAuthorized`, `withdrawn` or `sessionInvalidated` once the session has ended.
    func check() throws(LoadError)

    /// - Throws: as ``check()``, and `notAuthorized` or `withdrawn` while there is no access.
    func checkAccess() throws(LoadError)

    /// Calls `end` with the reason when the permission ends, until ``forget(_:)``. From any thread, perhaps more than
    /// once; must not block.
    func whenEnded(_ end: @escaping @Sendable (LoadError) -> Void) -> UInt64

    /// - Parameter number: what ``whenEnded(_:)`` returned.
    func forget(_ number: UInt64)
}

/// Asks the app, and waits for its answer until a deadline, or until the permission to go on ends.
///
/// The app answers in a task of its own, since neither of the two waits for an app that does not answer: the task is
/// cancelled, and what it returns later has no effect. Docs/Concurrency.md lists it.
///
/// - Returns: nil if there was no answer in time.
/// - Throws: why the permission ended; `cancelled`.
package func appsAnswer<Answer: Sendable>(
    until deadline: ContinuousClock.Instant, under permission: (any SessionPermission)?,
    _ question: @escaping @Sendable () async -> Answer
) async throws(LoadError) -> Answer? {
    let outcome = AwaitedValue<Result<Answer, LoadError>>()
    let number = permission?.whenEnded { outcome.set(.failure($0)) }
    defer { if let number { permission?.forget(number) } }
    // Checked once the question is known: a withdrawal either ends it or is seen here.
    try permission?.checkAccess()
    let asking = Task { outcome.set(.success(await question())) }
    defer { asking.cancel() }
    let result = await untilDeadline(deadline) { await outcome.wait() }
    if Task.isCancelled { throw .cancelled() }
    guard case .some(.some(let answer)) = result else { return nil }
    return try answer.get()
}
