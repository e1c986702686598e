import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import SallyportCommandLine

/// What `-o` writes to instead of putting a file in its place.
struct OutputFileTests {
    /// As `/dev/stdout` is one: if standard output is a file, the link stays, and what is written comes between what was
    /// written to the descriptor before and what is written to it afterwards.
    @Test func aLinkToADescriptorIsThatDescriptor() throws {
        let folder = try TemporaryDirectory()
        let (target, link) = (folder.file("target"), folder.file("link"))
        let descriptor = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        try #require(write(descriptor, "before, ", 8) == 8 && symlink("/proc/self/fd/\(descriptor)", link) == 0)
        let fromTheWorkingFolder = String(repeating: "../", count: 40) + link.dropFirst()
        for path in [link, fromTheWorkingFolder] { #expect(try !OutputFile.canBeReplaced(path)) }
        try OutputFile(link).write(Array("after".utf8))
        try #require(write(descriptor, ", last", 6) == 6)
        #expect(try String(decoding: Data(contentsOf: URL(filePath: target)), as: UTF8.self) == "before, after, last")
    }

    @Test func filesAndFreePathsCanBeReplaced() throws {
        let folder = try TemporaryDirectory()
        try Data().write(to: URL(filePath: folder.file("there")))
        for name in ["there", "free"] { #expect(try OutputFile.canBeReplaced(folder.file(name))) }
        for path in ["-", "/dev/null"] { #expect(try !OutputFile.canBeReplaced(path)) }
    }
}
