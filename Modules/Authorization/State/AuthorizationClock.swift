internal import Glibc

/// The clocks that authorization needs; tests use substitutes.
package protocol AuthorizationClock: Sendable {
    /// The wall clock in Unix seconds, which the host's administrator can set.
    var wall: Int64 { get }
    /// Seconds since the machine started, including suspension, which cannot be set.
    var uptime: Int64 { get }
    /// - Throws: an error if the task is cancelled.
    func sleep(for duration: Duration) async throws
}

/// The machine's clocks.
package struct SystemClock: AuthorizationClock {
    package init() {}
    /// From the coarse clock, which is at most one kernel tick (10 ms) late: requests read it often and need only
    /// seconds.
    package var wall: Int64 { Self.seconds(of: CLOCK_REALTIME_COARSE) }
    package var uptime: Int64 { Self.seconds(of: CLOCK_BOOTTIME) }
    package func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }

    private static func seconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec)
    }
}

/// A moment of the gateway's time, from which time runs without trust in the wall clock.
struct TimeMark: Sendable, Hashable, Codable {
    /// Unix seconds: the gateway's time, or the time that the mark before this one had come to.
    var time: Int64
    /// The uptime when the mark was made.
    var uptime: Int64

    /// The mark plus the running time of the machine since.
    ///
    /// After a restart the uptime begins again: then at least `uptime` seconds have passed, and a positive difference
    /// to the mark's uptime is less than that. Time during which the machine was off counts by the wall clock only.
    func time(at uptime: Int64) -> Int64 { time + (uptime >= self.uptime ? uptime - self.uptime : uptime) }

    /// The later of the wall clock and the time that the mark has come to.
    func leaseTime(wall: Int64, uptime: Int64) -> Int64 { max(wall, time(at: uptime)) }
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
