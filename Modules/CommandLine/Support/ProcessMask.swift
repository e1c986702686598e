import Foundation
import Glibc

/// The umask of this process.
enum ProcessMask {
    /// As /proc shows it: umask(2) tells it only by changing it, for all threads. If it is not shown there, new files
    /// are for their owner alone.
    static func read() -> mode_t {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        return line?.split(separator: "\t").last.flatMap { mode_t($0, radix: 8) } ?? 0o077
    }
}
