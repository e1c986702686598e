internal import Foundation

/// The names of this process's threads, several of which may have the same one.
package enum ThreadNames {
    package static func contains(_ name: String) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.contains { KernelFile.text("/proc/self/task/\($0)/comm") == name + "\n" }
    }
}
