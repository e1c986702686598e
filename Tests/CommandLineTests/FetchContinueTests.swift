import ArgumentParser
import FoundationEssentials
import Glibc
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportCommandLine

/// What `fetch -C --fail` makes of answers that are not the rest of the file.
@Suite(.timeLimit(.minutes(1))) struct FetchContinueTests {
    private struct Report: Decodable {
        var status: Int
        var bytes: Int
        var file: String?
    }

    private let loading = URLLoadingSystem(gate: StubGate())
    private let folder: TemporaryDirectory
    private var target: String { folder.file("copy") }

    init() throws { folder = try TemporaryDirectory() }

    /// A server whose first answer breaks off after the bytes of the file, but before its end.
    private func server(then second: String) throws -> TestServer {
        let first = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhelloworld\r\n"
        let answers = Lock([second, first])
        return try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(answers.withLock { $0.popLast() } ?? "")
        }
    }

    private func fetch(_ arguments: [String], from server: TestServer, in workplace: Workplace) async throws {
        let line = ["fetch", "--store", "s", "-o", target, "-C"] + arguments + ["http://127.0.0.1:\(server.port)/"]
        let session = loading.makeSession(SessionConfiguration())
        try await Workplace.$current.withValue(workplace) {
            let parsed = try SallyportProgram.parseAsRoot(line)
            let command = try #require(parsed as? FetchCommand)
            try await Fetch(command, by: nil, in: session).run()
        }
        await workplace.finishWriting()
    }

    /// Leaves all bytes of the file, of which nothing says that they are all.
    private func leaveAll(from server: TestServer) async throws {
        await #expect(throws: CommandFailure.self) {
            try await fetch([], from: server, in: Workplace(defaultStore: ""))
        }
        #expect(access(target, F_OK) != 0 && access(folder.file(".copy.resume"), F_OK) == 0)
    }

    @Test func aFileOfWhichNothingWasMissingIsNoFailure() async throws {
        let server = try server(
            then: "HTTP/1.1 416 No\r\nETag: \"a\"\r\nContent-Range: bytes */10\r\nContent-Length: 0\r\n\r\n")
        try await leaveAll(from: server)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let streams = PassedStreams([ends[1]])
        try await fetch(
            ["--fail", "--json"], from: server,
            in: Workplace(output: ends[1], defaultStore: "", streams: streams))
        streams.end()
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &bytes, bytes.count)
        let report = try JSONDecoder().decode(Report.self, from: Data(bytes.prefix(max(0, count))))
        #expect(report.status == 416 && report.bytes == 10 && report.file == target)
        #expect(try Data(contentsOf: URL(filePath: target)) == Data("helloworld".utf8))
    }

    /// Without it, a script would go on without the file.
    @Test(arguments: [["--fail"], []]) func anErrorInsteadOfTheRestIsAFailure(options: [String]) async throws {
        let server = try server(then: "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
        try await leaveAll(from: server)
        let failure = await #expect(throws: CommandFailure.self) {
            try await fetch(options, from: server, in: Workplace(defaultStore: ""))
        }
        #expect(failure?.status == .httpFailure && access(target, F_OK) != 0, "\(String(describing: failure))")
    }
}
