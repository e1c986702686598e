import FoundationEssentials
import SallyportAuthorization
import SallyportBase
import TestSupport

/// Clocks that a test turns. Sleeping ends at once after it was counted, or lasts until cancelled. The pauses before a
/// retry may last until a signal instead.
final class TestClock: AuthorizationClock {
    private struct State {
        var wall = Int64(Date.now.timeIntervalSince1970)
        var uptime: Int64 = 1000
        var sleeps: [Duration] = []
    }
    private let state = Lock(State())
    let lasts: Bool
    private let mayRetry: Signal?
    /// How long the pauses before a retry are.
    static let retry = Duration.milliseconds(4000)...Duration.milliseconds(6000)

    init(lasts: Bool = false, mayRetry: Signal? = nil) { (self.lasts, self.mayRetry) = (lasts, mayRetry) }

    var wall: Int64 { state.withLock { $0.wall } }
    var uptime: Int64 { state.withLock { $0.uptime } }
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    func sleep(for duration: Duration) async throws {
        state.withLock { $0.sleeps.append(duration) }
        try Task.checkCancellation()
        if let mayRetry, Self.retry.contains(duration) {
            await mayRetry.wait()
            return try Task.checkCancellation()
        }
        if lasts { try await Task.sleep(for: .seconds(3600)) }
    }

    func advance(wall: Int64 = 0, uptime: Int64 = 0) {
        state.withLock { state in
            state.wall += wall
            state.uptime += uptime
        }
    }
}
