internal import Foundation

/// What this process holds, for tests that look for what is left behind.
package struct Holdings: CustomStringConvertible {
    package let descriptors: Int
    /// Bytes in memory.
    package let resident: Int

    package static var now: Holdings {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0
        return Holdings(descriptors: descriptors, resident: ResidentMemory.now)
    }

    package var description: String { "\(descriptors) descriptors, \(resident >> 10) KiB" }
}
