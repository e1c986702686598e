import Foundation
import Glibc
import SallyportBase
import TestSupport
import Testing

/// The renaming of files that are complete.
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

    /// Its directory cannot be opened, and so not be synced.
    @Test(.enabled(if: geteuid() != 0, "Root may open every directory."))
    func aNameThatCannotBeMadeDurableIsAnError() throws {
        try folder.write("new", to: "file.part")
        chmod(folder.path, 0o300)
        defer { chmod(folder.path, 0o700) }
        #expect(DurableName.rename(folder.file("file.part"), to: folder.file("file")) == EACCES)
    }
}
