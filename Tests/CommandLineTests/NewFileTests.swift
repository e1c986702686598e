import Foundation
import Glibc
import TestSupport
import Testing

@testable import SallyportCommandLine

/// Files that a command makes.
@Suite struct NewFileTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func content(_ name: String) -> String? { try? String(contentsOfFile: folder.file(name), encoding: .utf8) }

    /// A second try would otherwise find the first one's files.
    @Test func ofFilesThatBelongTogetherAllAreWrittenOrNone() throws {
        try folder.write("mine", to: "ca.pem")
        let files: [(text: String, path: String, mode: mode_t)] = [
            ("key", folder.file("a.key"), 0o600), ("certificate", folder.file("a.pem"), 0o644),
            ("authority", folder.file("ca.pem"), 0o644),
        ]
        #expect(throws: CommandFailure.self) { try NewFile.write(files) }
        #expect(content("a.key") == nil && content("a.pem") == nil && content("ca.pem") == "mine")
        try FileManager.default.removeItem(atPath: folder.file("ca.pem"))
        try NewFile.write(files)
        #expect(content("a.key") == "key" && content("a.pem") == "certificate" && content("ca.pem") == "authority")
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("a.key"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }
}
