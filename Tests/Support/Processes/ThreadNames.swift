internal import Foundation

/// The names of a process's threads, several of which may have the same one.
package enum ThreadNames {
    /// Of this process.
    package static func contains(_ name: String) -> Bool { all(of: "self").contains(name) }

    /// Of a child.
    package static func all(of child: ChildProcess) -> [String] { all(of: "\(child.identifier)") }

    private static func all(of process: String) -> [String] {
        let folder = "/proc/\(process)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return threads.compactMap { KernelFile.text("\(folder)/\($0)/comm").map { String($0.dropLast()) } }
    }
}
