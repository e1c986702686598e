internal import Foundation
internal import Glibc

/// A file that the kernel makes while it is read, such as one of `/proc`.
package enum KernelFile {
    /// Reads to the end: a read returns a page at most, and Foundation takes one that is not full for the last.
    package static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while true {
            let page = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
                count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
            }
            if page.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += page
        }
    }
}
