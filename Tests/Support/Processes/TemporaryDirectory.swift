internal import Foundation
internal import Glibc

/// A directory that only its owner may enter, removed with this value.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        let parent = FileManager.default.temporaryDirectory
        var template = Array(parent.appending(path: "sallyport-test.XXXXXX").path.utf8CString)
        guard mkdtemp(&template) != nil else { throw Unexpected("mkdtemp failed with \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: file(name), atomically: true, encoding: .utf8)
        return file(name)
    }
}
