internal import Foundation

/// How often a thread of this process has waited until now. The kernel counts that: to ask wakes no thread.
package enum ThreadSleeps {
    /// - Parameter name: the thread's, which no other one has.
    package static func count(of name: String) throws -> Int {
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
            guard let status = KernelFile.text("/proc/self/task/\(thread)/status"),
                status.hasPrefix("Name:\t\(name)\n"),
                let line = status.split(separator: "\n").first(where: { $0.hasPrefix("voluntary_ctxt_switches:") }),
                let count = line.split(separator: "\t").last.flatMap({ Int($0) })
            else { continue }
            return count
        }
        throw Unexpected("There is no thread \(name).")
    }
}
