import Glibc
import TestSupport
import Testing

@testable import SallyportCommandLine

/// The paths of a command that the process of a door carries out for another process.
struct WorkplaceTests {
    private let folder: TemporaryDirectory
    private var workplace: Workplace { Workplace(folder: folder.path, defaultStore: "") }

    init() throws { folder = try TemporaryDirectory() }

    private func expectRefusal(of path: String) {
        let failure = #expect(throws: CommandFailure.self, "\(path)") { try workplace.path(path) }
        #expect(failure?.status == .usage && failure?.message.hasPrefix(path) == true, "\(path)")
    }

    /// They would lead to the streams of the door.
    @Test(arguments: [
        "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/63", "/proc/self/fd/1", "/proc/thread-self/fd/0",
        "/proc/mounts", "/dev/tty", "//dev/./fd/../fd/0", "/proc/self",
    ])
    func whatMeansSomethingElseInEachProcessIsRefused(_ path: String) { expectRefusal(of: path) }

    @Test func soIsWhatLeadsThereByLinksOrFromTheFolder() throws {
        try #require(symlink("/dev/stdout", folder.file("absolute")) == 0)
        try #require(symlink("absolute", folder.file("relative")) == 0)
        try #require(symlink("/proc", folder.file("folder")) == 0)
        let up = String(repeating: "../", count: 40)
        for path in ["absolute", "relative", "folder/self/fd/1", "\(up)dev/stdin"] { expectRefusal(of: path) }
    }

    /// To Swift, a combining mark is one character with the slash before it; to the system, it begins a name.
    @Test func pathsAreDividedAtBytes() throws {
        try #require(mkdir(folder.file("\u{301}folder"), 0o700) == 0)
        try #require(symlink("/proc/self/fd/0", folder.file("link")) == 0)
        expectRefusal(of: folder.file("\u{301}folder/../link"))
        #expect(try workplace.path("/\u{301}file").utf8.elementsEqual("/\u{301}file".utf8))
    }

    @Test func filesOfTheCallerAreNotRefused() throws {
        try #require(symlink("round", folder.file("round")) == 0)
        for path in ["report.txt", "none/report.txt", "round", "-", "self", "dev/stdin"] {
            #expect(try workplace.path(path) == folder.file(path))
        }
        for path in ["/etc/hosts", "/dev/null", "/proc/1/status", "/none/at/all"] {
            #expect(try workplace.path(path) == path)
        }
    }

    @Test func theUmaskOfTheProcessIsKnown() throws {
        let made = open(folder.file("made"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o777)
        defer { close(made) }
        var status = stat()
        try #require(fstat(made, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o777 & ~ProcessMask.read())
    }

    /// The shell has opened them for it.
    @Test func aProcessReachesWhatIsItsOwn() throws {
        for path in ["/dev/stdin", "/dev/fd/63", "report.txt"] {
            #expect(try Workplace(defaultStore: "").path(path) == path)
        }
    }
}
