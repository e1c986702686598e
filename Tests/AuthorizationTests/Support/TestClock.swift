import FoundationEssentials
import SallyportAuthorization
import SallyportBase

/// Clocks that a test turns. Sleeping ends at once after it was counted, or lasts until cancelled.
final class TestClock: AuthorizationClock {
    private struct State {
        var wall = Int64(Date.now.timeIntervalSince1970)
        var uptime: Int64 = 1000
        var sleeps: [Duration] = []
    }
    private let state = Lock(State())
    let lasts: Bool

    init(lasts: Bool = false) { self.lasts = lasts }

    var wall: Int64 { state.withLock { $0.wall } }
    var uptime: Int64 { state.withLock { $0.uptime } }
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    func sleep(for duration: Duration) async throws {
        state.withLock { $0.sleeps.append(duration) }
        try Task.checkCancellation()
        if lasts { try await Task.sleep(for: .seconds(3600)) }
    }

    func advance(wall: Int64 = 0, uptime: Int64 = 0) {
        state.withLock { state in
            state.wall += wall
            state.uptime += uptime
        }
    }
}
