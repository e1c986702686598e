internal import SallyportBase
package import SallyportCore

/// What lets the loads and streams of a session go on: that the session lasts, and that access is not withdrawn. A
/// class: each request asks it, and would copy a struct first.
package protocol SessionPermission: AnyObject, Sendable {
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

/// Waits for a value until a deadline, or until the permission to go on ends: what brings the value is cancelled then.
///
/// - Returns: nil if there was no value in time.
/// - Throws: why the permission ended; `cancelled`.
package func permittedWait<Value: Sendable>(
    until deadline: ContinuousClock.Instant, under permission: (any SessionPermission)?,
    _ value: @escaping @Sendable () async -> Value
) async throws(LoadError) -> Value? {
    let ended = AwaitedValue<LoadError>()
    let number = permission?.whenEnded { ended.set($0) }
    defer { if let number { permission?.forget(number) } }
    // Checked once the wait is known: a withdrawal either ends it or is seen here.
    try permission?.checkAccess()
    let result = await untilDeadline(deadline) { await first(of: ended, value) }
    if Task.isCancelled { throw .cancelled() }
    guard case .some(.some(let known)) = result else { return nil }
    return try known.get()
}

private func first<Value: Sendable>(
    of ended: AwaitedValue<LoadError>, _ value: @escaping @Sendable () async -> Value
) async -> Result<Value, LoadError>? {
    await withTaskGroup(of: Result<Value, LoadError>?.self) { group in
        group.addTask { await ended.wait().map { Result<Value, LoadError>.failure($0) } }
        group.addTask { Result<Value, LoadError>.success(await value()) }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
}

/// Asks the app, and waits for its answer until a deadline, or until the permission to go on ends.
///
/// The app answers in a task of its own: an app that does not answer holds up neither the deadline nor the end of the
/// permission. The task is cancelled at either, and what it returns later has no effect. Docs/Concurrency.md lists it.
///
/// - Returns: nil if there was no answer in time.
/// - Throws: why the permission ended; `cancelled`.
package func appsAnswer<Answer: Sendable>(
    until deadline: ContinuousClock.Instant, under permission: (any SessionPermission)?,
    _ question: @escaping @Sendable () async -> Answer
) async throws(LoadError) -> Answer? {
    let known = try await permittedWait(until: deadline, under: permission) { () async -> Answer? in
        let answer = AwaitedValue<Answer>()
        let asking = Task { answer.set(await question()) }
        defer { asking.cancel() }
        return await answer.wait()
    }
    return known ?? nil
}
