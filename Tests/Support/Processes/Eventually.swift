/// Whether a condition that another thread or process brings about comes true within a time; asked every 5 ms.
///
/// - Parameter limit: long, since no test that passes waits for its end; a test of a promised time gives that time.
package func eventually(
    within limit: Duration = .seconds(30), isolation: isolated (any Actor)? = #isolation,
    _ isTrue: () async throws -> Bool
) async throws -> Bool {
    let end = ContinuousClock.now + limit
    while try await !isTrue() {
        guard ContinuousClock.now < end else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}
