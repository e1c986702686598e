internal import Foundation
internal import SallyportBase

extension DescriptorLimit {
    /// The number of descriptors that this process has open.
    static var used: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 64 }
}
