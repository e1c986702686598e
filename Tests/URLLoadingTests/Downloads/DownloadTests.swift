import FoundationEssentials
import Glibc
import HTTPTypes
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

@Suite(.timeLimit(.minutes(1))) struct DownloadTests {
    /// A directory of the test's own, removed with it.
    private final class Directory: Sendable {
        private let folder: TemporaryDirectory
        var path: String { folder.path }

        init() throws { folder = try TemporaryDirectory() }

        var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }
        func mode(_ name: String) throws -> mode_t {
            var info = stat()
            try #require(lstat("\(path)/\(name)", &info) == 0)
            return info.st_mode & 0o7777
        }
        func bytes(_ name: String) -> [UInt8]? {
            FileManager.default.contents(atPath: "\(path)/\(name)").map(Array.init)
        }
    }

    private let directory: Directory
    private var target: String { "\(directory.path)/file" }

    init() throws { directory = try Directory() }

    private func session(_ answer: StubAnswer) -> (SecureSession, StubClient) {
        let fixture = Fixture(answers: [answer])
        return (fixture.loading.session, fixture.client)
    }

    @Test func theFileAppearsWhenItIsWhole() async throws {
        let answer = StubAnswer(fields: [.contentLength: "5"], chunks: [[1, 2], [3, 4, 5]])
        let (session, client) = session(answer)
        var progress: [TransferProgress] = []
        let head = try await session.download(for: .get("http://a.example/"), to: target) { step in
            #expect((try? directory.names.contains("file")) == false)
            progress.append(step)
        }
        #expect(head.status == .ok)
        #expect(directory.bytes("file") == [1, 2, 3, 4, 5])
        #expect(try directory.names == ["file"])
        #expect(progress.map(\.completed) == [0, 2, 5])
        #expect(progress.map(\.fraction) == [0, 0.4, 1])
        #expect(client.requests[0].headerFields[.acceptEncoding] == "identity")
    }

    /// Keeps the steps of its download in its own state, as the actor of an app does.
    private actor Shelf {
        private(set) var steps: [TransferProgress] = []

        func download(in session: SecureSession, to target: String) async throws {
            try await session.download(for: .get("http://a.example/"), to: target) { add($0) }
        }

        func resume(in session: SecureSession, to target: String) async throws {
            try await session.resumeDownload(for: .get("http://a.example/"), to: target) { add($0) }
        }

        private func add(_ step: TransferProgress) {
            preconditionIsolated()
            steps.append(step)
        }
    }

    @Test(arguments: [false, true]) func theStepsOfAnActorsDownloadReachItsState(isResumed: Bool) async throws {
        let (session, _) = session(StubAnswer(fields: [.contentLength: "2"], chunks: [[1], [2]]))
        let shelf = Shelf()
        if isResumed {
            try await shelf.resume(in: session, to: target)
        } else {
            try await shelf.download(in: session, to: target)
        }
        #expect(await shelf.steps.map(\.completed) == [0, 1, 2])
    }

    @Test func anUnknownTotalHasNoFraction() async throws {
        let (session, _) = session(StubAnswer(chunks: [[1]]))
        var progress: [TransferProgress] = []
        try await session.download(for: .get("http://a.example/"), to: target) { progress.append($0) }
        #expect(progress == [.init(completed: 0, total: nil), .init(completed: 1, total: nil)])
        #expect(progress.allSatisfy { $0.fraction == nil })
        #expect(TransferProgress(completed: 0, total: 0).fraction == 1)
    }

    @Test func aFailureLeavesTheTargetAsItWas() async throws {
        try Data([9]).write(to: URL(filePath: target))
        let (session, _) = session(StubAnswer(chunks: [[1]], failure: LoadError(.connectionLost, "")))
        await #expect(throws: LoadError(.connectionLost, "")) {
            try await session.download(for: .get("http://a.example/"), to: target)
        }
        #expect(directory.bytes("file") == [9])
        #expect(try directory.names == ["file"])
    }

    @Test func cancellationLeavesNothing() async throws {
        let (session, client) = session(StubAnswer(chunks: [[1]], staysOpen: true))
        let (started, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task { [target] in
            try await session.download(for: .get("http://a.example/"), to: target) { progress in
                if progress.completed == 1 { continuation.finish() }
            }
        }
        for await _ in started {}
        task.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await task.value }
        #expect(try directory.names == [])
        #expect(client.discards == 1)
    }

    @Test func aFileThatStandsThereIsReplaced() async throws {
        try Data([9, 9, 9]).write(to: URL(filePath: target))
        let (session, _) = session(StubAnswer(chunks: [[1]]))
        try await session.download(for: .get("http://a.example/"), to: target)
        #expect(directory.bytes("file") == [1])
    }

    /// A secret that is downloaded again must not become readable by all users.
    @Test(arguments: [0o600, 0o640, 0o644, 0o400, 0o755] as [mode_t])
    func theModeOfTheFileThatIsReplacedIsKept(_ mode: mode_t) async throws {
        try Data([9]).write(to: URL(filePath: target))
        chmod(target, mode)
        let (session, _) = session(StubAnswer(chunks: [[1]]))
        try await session.download(for: .get("http://a.example/"), to: target)
        #expect(directory.bytes("file") == [1])
        #expect(try directory.mode("file") == mode)
        #expect(try directory.names == ["file"])
    }

    @Test func aNewFileGetsTheModeThatTheSystemGivesOne() async throws {
        try Data([9]).write(to: URL(filePath: "\(directory.path)/other"))
        let (session, _) = session(StubAnswer(chunks: [[1]]))
        try await session.download(for: .get("http://a.example/"), to: target)
        let made = open("\(directory.path)/made", O_WRONLY | O_CREAT, 0o666)
        close(made)
        #expect(try directory.mode("file") == directory.mode("made"))
        #expect(try directory.names == ["file", "made", "other"])
    }

    /// The process of a door loads for others, whose umask is another one.
    @Test(arguments: [0o002, 0o022, 0o027, 0o077] as [UInt32])
    func aNewFileGetsTheModeByTheUmaskThatTheCallerNames(umask: UInt32) async throws {
        for isResumable in [false, true] {
            try await download(isResumable: isResumable, umask: umask)
            #expect(try directory.mode("file") == 0o666 & ~umask)
            #expect(try directory.names == ["file"])
            unlink(target)
        }
    }

    /// As for each program that creates a file there, the directory says what others may do with it.
    @Test(
        .enabled(if: DefaultACL.isSupported, "The file system of temporary directories has no ACLs."),
        arguments: [false, true])
    func aDefaultACLOfTheDirectoryTakesThePlaceOfTheUmaskThatTheCallerNames(isResumable: Bool) async throws {
        try DefaultACL.add(to: directory.path)
        try await download(isResumable: isResumable, umask: 0o077)
        #expect(try directory.mode("file") == DefaultACL.mode)
        #expect(try directory.names == ["file"])
    }

    private func download(isResumable: Bool, umask: UInt32) async throws {
        let (session, _) = session(StubAnswer(chunks: [[1]]))
        let request = try LoadRequest.get("http://a.example/")
        if isResumable {
            _ = try await session.resumedResult(
                for: request, to: target, keeping: { _ in true }, umask: umask, progress: { _ in })
        } else {
            _ = try await session.downloadResult(
                for: request, to: target, keeping: { _ in true }, umask: umask, progress: { _ in })
        }
    }

    /// While a file is being written, other users must not read what the target's mode will keep from them.
    @Test func anIncompleteFileIsReadableByItsOwnerOnly() async throws {
        let answer = StubAnswer(chunks: [[1], [2]])
        let (session, _) = session(answer)
        var modes: Set<mode_t> = []
        try await session.download(for: .get("http://a.example/"), to: target) { _ in
            for name in (try? directory.names) ?? [] { if let mode = try? directory.mode(name) { modes.insert(mode) } }
        }
        #expect(modes == [0o600])
    }

    @Test func onlySuccessIsKeptUnlessTheCallerSaysOtherwise() async throws {
        let (session, client) = session(StubAnswer(status: .notFound, chunks: [[1]]))
        let head = try await session.download(for: .get("http://a.example/"), to: target)
        #expect(head.status == .notFound && client.requests.count == 1)
        #expect(try directory.names == [])
        try await session.download(for: .get("http://a.example/"), to: target, keeping: { _ in true })
        #expect(directory.bytes("file") == [1])
    }

    @Test(arguments: ["/missing/file", "/", ""]) func aTargetThatTakesNoFileIsAnError(_ tail: String) async throws {
        let (session, client) = session(StubAnswer(chunks: [[1]], staysOpen: true))
        await #expect(throws: LoadError(.fileSystem, "")) {
            try await session.download(for: .get("http://a.example/"), to: directory.path + tail)
        }
        #expect(client.discards == 1)
    }

    /// Their hidden files would have names that are too long, if these were not cut by bytes.
    @Test(arguments: [
        String(repeating: "a", count: 255), String(repeating: "ä", count: 127), String(repeating: "😀", count: 63),
        "a" + String(repeating: "\u{301}", count: 127), "\u{301}file",
    ])
    func everyNameThatAFileCanHaveCanBeDownloadedTo(_ name: String) async throws {
        let (session, _) = session(StubAnswer(fields: [.contentLength: "1"], chunks: [[1]]))
        let path = "\(directory.path)/\(name)"
        try await session.download(for: .get("http://a.example/"), to: path)
        #expect(try directory.names == [name] && directory.bytes(name) == [1])
        try await session.resumeDownload(for: .get("http://a.example/"), to: path)
        #expect(try directory.names == [name] && directory.bytes(name) == [1])
    }

    @Test func aNameThatNoFileCanHaveIsRefusedBeforeTheDownload() async throws {
        let (session, client) = session(StubAnswer(chunks: [[1]]))
        let path = "\(directory.path)/\(String(repeating: "a", count: 256))"
        await #expect(throws: LoadError(.fileSystem, "")) {
            try await session.resumeDownload(for: .get("http://a.example/"), to: path)
        }
        #expect(client.requests.isEmpty)
        #expect(try directory.names == [])
    }

    @Test func longNamesThatBeginInTheSameWayHaveHiddenFilesOfTheirOwn() {
        let names = ["1", "2"].map { String(repeating: "ä", count: 110) + $0 }
        let hidden = names.map { HiddenPath.shortened($0[...]) }
        #expect(hidden[0] != hidden[1])
        #expect(hidden.allSatisfy { $0.utf8.count <= 217 && $0.hasPrefix(String(repeating: "ä", count: 100) + ".") })
        let short = String(repeating: "a", count: HiddenPath.longestName)
        #expect(HiddenPath.shortened(short[...]) == short)
    }

    @Test func namesWithoutADirectoryStandInTheWorkingDirectory() throws {
        let name = "sallyport-test-\(UUID())"
        let file = try DownloadFile.make(for: name)
        try file.write([1])
        let path = FileManager.default.currentDirectoryPath
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).contains { $0.contains(name) })
    }
}
