internal import CLinux
internal import Foundation
internal import Glibc

/// What this process holds in memory.
package enum ResidentMemory {
    /// Bytes, once malloc has given back what it can.
    package static var now: Int {
        malloc_trim(0)
        let columns = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (columns?.dropFirst().first.flatMap { Int($0) } ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }
}
