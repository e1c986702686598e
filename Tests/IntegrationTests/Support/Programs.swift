import Foundation
import Glibc

/// The programs that were built beside the tests, and the repository they were built from.
enum Programs {
    /// Where the running tests lie.
    static let directory: URL = {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let text = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return URL(filePath: text).deletingLastPathComponent()
    }()

    static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func built(_ name: String) -> String { directory.appending(path: name).path }
}

/// A directory that only its owner may enter, removed with this value.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/sallyport-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Unexpected("mkdtemp failed with \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: file(name), atomically: true, encoding: .utf8)
        return file(name)
    }
}

/// What a test did not expect.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
