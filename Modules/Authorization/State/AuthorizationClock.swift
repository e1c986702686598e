internal import Glibc

/// Time as authorization needs it; tests bring their own.
package protocol AuthorizationClock: Sendable {
    /// Unix seconds, which whoever owns the host can set.
    var wall: Int64 { get }
    /// Seconds since the machine started, suspension included, which nobody can set.
    var uptime: Int64 { get }
    /// Throws where the task is cancelled.
    func sleep(for duration: Duration) async throws
}

/// The machine's clocks.
package struct SystemClock: AuthorizationClock {
    package init() {}
    /// By the coarse clock, which is a tick of the kernel behind at most (10 ms): requests read it, and want seconds.
    package var wall: Int64 { Self.seconds(of: CLOCK_REALTIME_COARSE) }
    package var uptime: Int64 { Self.seconds(of: CLOCK_BOOTTIME) }
    package func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }

    private static func seconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec)
    }
}

/// A moment of the gateway's time, from which a lease runs on without trust in the wall clock.
struct TimeMark: Sendable, Hashable, Codable {
    /// Unix seconds: the gateway's, or what ``leaseTime(wall:uptime:)`` gave when the mark was moved on.
    var time: Int64
    /// When the mark was made.
    var uptime: Int64

    /// The larger of the wall clock and the mark plus the time that the machine ran since.
    ///
    /// After a restart the uptime begins anew: then at least `uptime` seconds have passed, and the difference to the
    /// mark's, where it is positive, is less than that. Time switched off counts by the wall clock only.
    func leaseTime(wall: Int64, uptime: Int64) -> Int64 {
        max(wall, time + (uptime >= self.uptime ? uptime - self.uptime : uptime))
    }
}

/// Pauses between tries.
struct Backoff: Sendable {
    /// 5 s ± 20 %.
    static func retry(using generator: inout some RandomNumberGenerator) -> Duration {
        .milliseconds(Int64.random(in: 4000...6000, using: &generator))
    }

    /// Before try `number` + 1: up to 1 s, 2 s, 4 s …, at most 30 s, full jitter.
    static func activation(after number: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let ceiling = min(30_000, 1000 << min(number - 1, 5))
        return .milliseconds(Int64.random(in: 0...Int64(ceiling), using: &generator))
    }
}
