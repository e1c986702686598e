import Foundation
import Glibc

/// Process CPU time, wall time and resident memory.
enum Meter {
    static func cpuNanoseconds() -> Double { nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) }
    static func wallNanoseconds() -> Double { nanoseconds(of: CLOCK_MONOTONIC) }

    private static func nanoseconds(of clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }

    /// Sets the high-water mark of resident memory to what is resident now (proc(5), `clear_refs`).
    static func resetPeakMemory() {
        try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .ascii)
    }

    static func residentBytes() -> Int { status("VmRSS:") }
    static func peakBytes() -> Int { status("VmHWM:") }

    private static func status(_ name: String) -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .ascii),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
            let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return 0 }
        return kibibytes << 10
    }
}

extension Job {
    /// Warms the peer up, then measures it.
    package func measure(_ client: any PeerClient) async throws -> Cost {
        _ = try await client.run(url: url, total: max(concurrency * 2, min(200, total)), concurrency: concurrency)
        Meter.resetPeakMemory()
        let resident = Meter.residentBytes()
        let (cpu, wall) = (Meter.cpuNanoseconds(), Meter.wallNanoseconds())
        let bytes = try await client.run(url: url, total: total, concurrency: concurrency)
        let measurement = Cost(
            cpuNanoseconds: Meter.cpuNanoseconds() - cpu, wallNanoseconds: Meter.wallNanoseconds() - wall,
            operations: total, bytes: bytes, memoryGrowth: max(0, Meter.peakBytes() - resident))
        try await client.shutdown()
        return measurement
    }
}

/// Hands out `total` tickets to `concurrency` tasks.
package func inParallel(
    _ total: Int, _ concurrency: Int, on executor: (any TaskExecutor)? = nil,
    _ fetch: @escaping @Sendable @concurrent () async throws -> Int
) async throws -> Int {
    try await withThrowingTaskGroup(of: Int.self) { group in
        for index in 0..<concurrency {
            let share = total / concurrency + (index < total % concurrency ? 1 : 0)
            group.addTask(executorPreference: executor) {
                var bytes = 0
                for _ in 0..<share { bytes += try await fetch() }
                return bytes
            }
        }
        return try await group.reduce(0, +)
    }
}
