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

    /// A command that is killed in the middle leaves nothing in the way of the next one.
    @Test func aFileHasItsNameOnceItIsWhole() throws {
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
        let draft = try DraftFile(folder.file("a.key"), mode: 0o600)
        try draft.write(Array("key".utf8))
        #expect(try names().isEmpty)
        try draft.publish()
        #expect(try names() == ["a.key"] && content("a.key") == "key")
        draft.keep()
    }

    @Test func aFileThatIsNotKeptIsRemoved() throws {
        func publish(_ isKept: Bool) throws {
            let draft = try DraftFile(folder.file("a.key"), mode: 0o600)
            try draft.write(Array("key".utf8))
            try draft.publish()
            if isKept { draft.keep() }
        }
        try publish(false)
        #expect(content("a.key") == nil)
        try publish(true)
        #expect(content("a.key") == "key")
        #expect(throws: CommandFailure.self) { try publish(false) }
        #expect(content("a.key") == "key", "Another's file stays.")
    }

    /// An export of the audit trail that fails half-way must not be taken for the whole trail.
    @Test func aFileThatIsWrittenInPartsHasThemOnceAllAreWritten() throws {
        let path = folder.file("trail.jsonl")
        try withFile(path) { file in
            try file.write(Array("one\n".utf8))
            #expect(content("trail.jsonl")?.isEmpty == true)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty, "It was not finished.")
        try withFile(path) { file in
            for part in ["one\n", "two\n"] { try file.write(Array(part.utf8)) }
            try file.finish()
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["trail.jsonl"])
        #expect(content("trail.jsonl") == "one\ntwo\n")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(throws: CommandFailure.self) { try withFile(path) { _ in } }
        #expect(content("trail.jsonl") == "one\ntwo\n")
    }

    /// A second try would otherwise find the file of the first one.
    @Test(.enabled(if: geteuid() != 0, "Root may open every directory."))
    func aFileWhoseNameCannotBeMadeDurableIsNotLeft() throws {
        let path = folder.file("trail.jsonl")
        defer { chmod(folder.path, 0o700) }
        try withFile(path) { file in
            try file.write(Array("one\n".utf8))
            // The directory takes files, and cannot be opened to be synced.
            chmod(folder.path, 0o300)
            #expect(throws: CommandFailure.self) { try file.finish() }
        }
        chmod(folder.path, 0o700)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    /// The file is let go when this returns.
    private func withFile(_ path: String, _ body: (NewFileInParts) throws -> Void) throws {
        try body(NewFileInParts(path, mode: 0o600))
    }
}
