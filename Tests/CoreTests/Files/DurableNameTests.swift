import Foundation
import Glibc
import SallyportBase
import TestSupport
import Testing

/// The names of files that are complete.
@Suite struct DurableNameTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func content(_ name: String) -> String? { try? String(contentsOfFile: folder.file(name), encoding: .utf8) }

    @Test func aFileTakesThePlaceOfAnother() throws {
        try folder.write("old", to: "file")
        try folder.write("new", to: "file.part")
        #expect(DurableName.rename(folder.file("file.part"), to: folder.file("file")) == 0)
        #expect(content("file") == "new" && content("file.part") == nil)
    }

    @Test func anErrorIsTold() throws {
        try folder.write("new", to: "file.part")
        #expect(DurableName.rename(folder.file("none"), to: folder.file("file")) == ENOENT)
        #expect(DurableName.rename(folder.file("file.part"), to: folder.file("none/file")) == ENOENT)
        #expect(content("file.part") == "new")
    }

    @Test(.enabled(if: geteuid() != 0, "Root may open every directory."))
    func aDirectoryThatThisUserMayNotReadIsNotSynced() throws {
        try folder.write("new", to: "file.part")
        chmod(folder.path, 0o300)
        defer { chmod(folder.path, 0o700) }
        #expect(DurableName.rename(folder.file("file.part"), to: folder.file("file")) == 0)
        #expect(content("file") == "new")
    }

    @Test func aFileWithoutANameGetsOneThatIsFree() throws {
        // `O_TMPFILE`, which Swift's Glibc module leaves out.
        let descriptor = open(folder.path, O_RDWR | O_DIRECTORY | 0o20_000_000, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try folder.write("other", to: "taken")
        #expect(write(descriptor, "new", 3) == 3)
        #expect(DurableName.link(descriptor, as: folder.file("taken")) == EEXIST)
        #expect(DurableName.link(descriptor, as: folder.file("file")) == 0)
        #expect(content("taken") == "other" && content("file") == "new")
    }
}
