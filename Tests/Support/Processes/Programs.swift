package import Foundation
internal import Glibc

/// The programs that were built beside the tests, and the repository they were built from.
package enum Programs {
    /// Where the running tests lie.
    package static let directory: URL = {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let text = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return URL(filePath: text).deletingLastPathComponent()
    }()

    package static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    package static func built(_ name: String) -> String { directory.appending(path: name).path }

    /// The program that is run as a gateway. A long run, which measures times, names an optimised one in its
    /// environment.
    package static var gateway: String {
        ProcessInfo.processInfo.environment["SALLYPORT_SOAK_GATEWAY"] ?? built("sallyport")
    }
}
