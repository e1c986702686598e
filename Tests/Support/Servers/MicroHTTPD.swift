internal import Foundation
internal import Glibc

/// A real server of libmicrohttpd that asks for Digest everywhere, stopped with this value: the program `DigestDaemon`.
package final class MicroHTTPD: Sendable {
    package let port: UInt16
    private let process: ChildProcess

    /// - Parameter algorithm: `md5` or `sha256`.
    package static func start(
        _ algorithm: String, user: (name: String, password: String)
    ) async throws -> MicroHTTPD {
        let process = try ChildProcess(program, [algorithm, user.name, user.password])
        guard try await eventually({ process.output.contains("\n") }),
            let port = process.output.split(separator: "\n").first.flatMap({ UInt16($0) })
        else { throw Unexpected("DigestDaemon did not start: \(process.error)") }
        return MicroHTTPD(port, process)
    }

    private init(_ port: UInt16, _ process: ChildProcess) {
        self.port = port
        self.process = process
    }

    /// A line for each answer: status and path.
    package var log: [String] { process.output.split(separator: "\n").dropFirst().map(String.init) }

    private static let program: String = {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count)
        let text = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text[..<(text.lastIndex(of: "/") ?? text.startIndex)] + "/DigestDaemon"
    }()
}
