import Foundation
import Sallyport

/// Sallyport as an app has it: with a store of its own, activated by the gateway of the benchmarks, and with the policy
/// of its administrator, authentication, cookies and cache.
package struct ActivatedInstance: Sendable {
    package let sallyport: Sallyport
    private let folder: String
    private var key: String { "\(folder).key" }

    /// - Parameters:
    ///   - folder: where the store will be, with its key beside it; if nil, a new one among the temporary files.
    ///   - issuer: the command, for a shell, that prints an activation link.
    package init(in folder: String? = nil, issuer: String) async throws {
        let folder =
            folder ?? FileManager.default.temporaryDirectory.appending(path: "sallyport-bench-\(UUID())").path
        self.folder = folder
        sallyport = try await Sallyport.open(
            store: folder, protectedBy: .keyFile("\(folder).key"),
            application: .init("com.example.bench", version: "1.0.0.0"))
        try await sallyport.authorization.activate(link: Self.output(of: issuer))
        try await sallyport.authorize()
    }

    /// The first line that a shell's command prints. Foundation's `Process` does not run under valgrind.
    private static func output(of command: String) throws -> String {
        guard let pipe = unsafe popen(command, "r") else { throw PeerFailure("no process can be started") }
        var line = [CChar](repeating: 0, count: 4096)
        let isRead = unsafe fgets(&line, Int32(line.count), pipe) != nil
        guard unsafe pclose(pipe) == 0, isRead else { throw PeerFailure("no link was issued by: \(command)") }
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.trimmingCharacters(in: .newlines)
    }

    /// Ends the instance and removes its store.
    package func shutdown() async throws {
        await sallyport.shutdown()
        try FileManager.default.removeItem(atPath: folder)
        try FileManager.default.removeItem(atPath: key)
    }
}
