import Foundation
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Downloads that are ended and gone on with, from a real nginx, which has strong tags and ranges.
@Suite(.timeLimit(.minutes(1)))
struct ResumeTests {
    private struct FileServer {
        let nginx: Nginx
        let loading: URLLoadingSystem
        let folder: TemporaryDirectory
        var target: String { folder.file("downloads/copy") }

        init() async throws {
            let folder = try TemporaryDirectory()
            self.folder = folder
            try FileManager.default.createDirectory(
                atPath: folder.file("downloads"), withIntermediateDirectories: false)
            nginx = try await Nginx.start(in: folder) { port in
                """
                log_format line '$status $bytes_sent $http_range $http_if_range';
                server {
                    listen 127.0.0.1:\(port);
                    access_log \(folder.path)/access.log line;
                    root \(folder.path);
                    # The end comes half a second later: what is given up in the midst of it is never whole before.
                    limit_rate_after 4m;
                    limit_rate 4m;
                    location /plain/ { alias \(folder.path)/; etag off; add_header Last-Modified ""; }
                }
                """
            }
            loading = URLLoadingSystem(gate: StubGate())
        }

        func publish(_ content: [UInt8]) throws {
            // A new file, so that its tag differs.
            try Data(content).write(to: URL(filePath: folder.file("page.new")))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -Double(content[0]) * 100)],
                ofItemAtPath: folder.file("page.new"))
            _ = try? FileManager.default.removeItem(atPath: folder.file("page"))
            try FileManager.default.moveItem(atPath: folder.file("page.new"), toPath: folder.file("page"))
        }

        func request(_ path: String = "/page") throws -> LoadRequest {
            try .get("http://127.0.0.1:\(nginx.port)\(path)")
        }

        /// Downloads and gives up when so much has come.
        func downloadPart(_ bytes: Int64, _ path: String = "/page") async throws {
            let task = Task {
                try await loading.session.resumeDownload(for: request(path), to: target) { progress in
                    if progress.completed >= bytes { withUnsafeCurrentTask { $0?.cancel() } }
                }
            }
            let error = await #expect(throws: LoadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(!FileManager.default.fileExists(atPath: target))
        }

        var left: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: folder.file("downloads")).sorted() }
        }

        func content() throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: target))) }
    }

    /// 6 MiB, of which no part is as another.
    private static func content(_ first: UInt8) -> [UInt8] {
        (0..<96).flatMap { [UInt8](repeating: first &+ $0, count: 64 << 10) }
    }

    @Test func theRestIsLoadedAndNotTheWhole() async throws {
        let server = try await FileServer()
        let content = Self.content(1)
        try server.publish(content)
        try await server.downloadPart(2 << 20)
        #expect(try server.left == [".copy.partial", ".copy.resume"])
        var steps: [TransferProgress] = []
        let head = try await server.loading.session.resumeDownload(for: server.request(), to: server.target) {
            steps.append($0)
        }
        #expect(head.status == .partialContent)
        #expect(try server.content() == content)
        #expect(try server.left == ["copy"])
        let first = try #require(steps.first)
        #expect(first.completed >= 2 << 20 && first.total == 6 << 20 && steps.last?.fraction == 1)
        #expect(try await eventually { server.nginx.log.count == 2 })
        let words = server.nginx.log[1].split(separator: " ")
        #expect(words[0] == "206" && words[2] == "bytes=\(first.completed)-" && words[3].hasPrefix("\\x22"))
        await server.loading.shutdown()
    }

    @Test func changedContentIsLoadedCompletely() async throws {
        let server = try await FileServer()
        try server.publish(Self.content(1))
        try await server.downloadPart(2 << 20)
        let content = Self.content(2)
        try server.publish(content)
        let head = try await server.loading.session.resumeDownload(for: server.request(), to: server.target)
        #expect(head.status == .ok)
        #expect(try server.content() == content)
        #expect(try server.left == ["copy"])
        await server.loading.shutdown()
    }

    @Test func anotherRequestBeginsAnew() async throws {
        let server = try await FileServer()
        try server.publish(Self.content(1))
        try await server.downloadPart(2 << 20)
        let head = try await server.loading.session.resumeDownload(
            for: server.request("/page?other"), to: server.target)
        #expect(head.status == .ok)
        #expect(try server.content() == Self.content(1))
        await server.loading.shutdown()
    }

    @Test func contentWithoutAValidatorLeavesNoFiles() async throws {
        let server = try await FileServer()
        try server.publish(Self.content(1))
        try await server.downloadPart(2 << 20, "/plain/page")
        #expect(try server.left.isEmpty)
        await server.loading.shutdown()
    }

    /// Bytes that the record does not vouch for may be anything after a crash.
    @Test func bytesOutsideTheRecordAreLoadedAgain() async throws {
        let server = try await FileServer()
        let content = Self.content(1)
        try server.publish(content)
        try await server.downloadPart(2 << 20)
        let partial = try FileHandle(forUpdating: URL(filePath: server.folder.file("downloads/.copy.partial")))
        try partial.seekToEnd()
        try partial.write(contentsOf: Data(repeating: 0, count: 100_000))
        try partial.close()
        try await server.loading.session.resumeDownload(for: server.request(), to: server.target)
        #expect(try server.content() == content)
        await server.loading.shutdown()
    }

    @Test func aRecordWithoutItsBytesStartsAgain() async throws {
        let server = try await FileServer()
        let content = Self.content(1)
        try server.publish(content)
        for damage in ["short", "garbage", "gone"] {
            try await server.downloadPart(2 << 20)
            let (partial, record) = ("downloads/.copy.partial", "downloads/.copy.resume")
            switch damage {
            case "short": try Data([1, 2, 3]).write(to: URL(filePath: server.folder.file(partial)))
            case "garbage": try Data([1, 2, 3]).write(to: URL(filePath: server.folder.file(record)))
            default: try FileManager.default.removeItem(atPath: server.folder.file(partial))
            }
            let head = try await server.loading.session.resumeDownload(for: server.request(), to: server.target)
            #expect(head.status == .ok, "\(damage)")
            #expect(try server.content() == content, "\(damage)")
            try FileManager.default.removeItem(atPath: server.target)
        }
        await server.loading.shutdown()
    }

    /// A file that another user can write may not contain what the server sent.
    @Test(arguments: [
        "partial wide", "partial linked", "partial symbolic", "partial pipe", "record wide", "record linked",
        "record symbolic", "record pipe", "partial foreign", "record foreign",
    ])
    func filesThatMayHaveBeenPlantedAreNotUsed(_ how: String) async throws {
        let server = try await FileServer()
        try server.publish(Self.content(1))
        try await server.downloadPart(2 << 20)
        #expect(try await eventually { server.nginx.log.count == 1 })
        let words = how.split(separator: " ")
        let path = server.folder.file("downloads/.copy.\(words[0] == "record" ? "resume" : "partial")")
        switch words[1] {
        case "wide": chmod(path, 0o644)
        case "linked": link(path, server.folder.file("second"))
        case "symbolic":
            rename(path, server.folder.file("second"))
            symlink(server.folder.file("second"), path)
        case "pipe":
            unlink(path)
            mkfifo(path, 0o600)
        default:
            // Only root can give files away.
            guard geteuid() == 0 else { return await server.loading.shutdown() }
            chown(path, 65_534, gid_t.max)
        }
        let error = await #expect(throws: LoadError.self) {
            try await server.loading.session.resumeDownload(for: server.request(), to: server.target)
        }
        #expect(error?.code == .fileSystem)
        #expect(!FileManager.default.fileExists(atPath: server.target))
        #expect(try await eventually { server.nginx.log.count == 1 }, "Nothing is asked of the server.")
        try SecureSession.removePartialDownload(to: server.target)
        try await server.loading.session.resumeDownload(for: server.request(), to: server.target)
        #expect(try server.content() == Self.content(1))
        await server.loading.shutdown()
    }

    @Test func theModeOfTheFileThatIsReplacedIsKept() async throws {
        let server = try await FileServer()
        try server.publish(Self.content(1))
        try Data([1]).write(to: URL(filePath: server.target))
        chmod(server.target, 0o640)
        try await server.loading.session.resumeDownload(for: server.request(), to: server.target)
        let attributes = try FileManager.default.attributesOfItem(atPath: server.target)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o640)
        #expect(try server.left == ["copy"])
        await server.loading.shutdown()
    }

    @Test func twoAtOnceAreRefused() async throws {
        let server = try await FileServer()
        try server.publish(Self.content(1))
        let file = try PartialFile.open(for: server.target)
        let error = await #expect(throws: LoadError.self) {
            try await server.loading.session.resumeDownload(for: server.request(), to: server.target)
        }
        #expect(error?.code == .fileSystem)
        _ = consume file
        try await server.loading.session.resumeDownload(for: server.request(), to: server.target)
        #expect(try server.content() == Self.content(1))
        await server.loading.shutdown()
    }

    @Test func requestsOtherThanAPlainGetAreRefused() async throws {
        let server = try await FileServer()
        for change in [
            { $0.method = .post }, { $0.headerFields[.range] = "bytes=1-" }, { $0.body = .bytes([1]) },
        ] as [@Sendable (inout LoadRequest) -> Void] {
            var request = try server.request()
            change(&request)
            let error = await #expect(throws: LoadError.self) {
                try await server.loading.session.resumeDownload(for: request, to: server.target)
            }
            #expect(error?.code == .invalidRequest)
        }
        await server.loading.shutdown()
    }

    /// What a broken-off answer of unknown length leaves.
    private func leave(_ part: String, of request: LoadRequest, for path: String) async throws {
        var file = try PartialFile.open(for: path)
        let head = HTTPResponse(status: .ok, headerFields: [.eTag: "\"a\""])
        try file.restart(as: Resumption(of: request, answered: head))
        try file.write(Array(part.utf8))
        try await file.keep()
    }

    /// The length of the whole would be greater than a number can say.
    @Test func aRestThatCannotBeSoLongIsNotTaken() async throws {
        let answers = Lock([
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhelloworld",
            "HTTP/1.1 206 P\r\nContent-Range: bytes 5-9/*\r\nContent-Length: \(Int64.max)\r\n\r\nworld",
        ])
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(answers.withLock { $0.popLast() } ?? "")
            connection.awaitEnd()
        }
        let (folder, loading) = (try TemporaryDirectory(), URLLoadingSystem(gate: StubGate()))
        let request = LoadRequest(.get, try server.url("/page"))
        try await leave("hello", of: request, for: folder.file("copy"))
        let head = try await loading.session.resumeDownload(for: request, to: folder.file("copy"))
        #expect(head.status == .ok && server.acceptedConnections == 2)
        #expect(try Data(contentsOf: URL(filePath: folder.file("copy"))) == Data("helloworld".utf8))
        await loading.shutdown()
    }

    /// A process may end between the last byte and the file's appearance.
    @Test func aFileOfWhichNothingWasMissingIsWholeThoughTheAnswerIsAnError() async throws {
        let server = try TestServer {
            $0.answerAll("HTTP/1.1 416 No\r\nETag: \"a\"\r\nContent-Range: bytes */5\r\nContent-Length: 0\r\n\r\n")
        }
        let (folder, loading) = (try TemporaryDirectory(), URLLoadingSystem(gate: StubGate()))
        let request = LoadRequest(.get, try server.url("/page"))
        try await leave("hello", of: request, for: folder.file("copy"))
        let result = try await loading.session.resumedResult(
            for: request, to: folder.file("copy"), keeping: { $0.status.kind == .successful }, progress: { _ in })
        #expect(result.isWhole && result.response.head.status.code == 416)
        #expect(try Data(contentsOf: URL(filePath: folder.file("copy"))) == Data("hello".utf8))
        await loading.shutdown()
    }

    @Test func partialFilesCanBeRemoved() async throws {
        let server = try await FileServer()
        try server.publish(Self.content(1))
        try await server.downloadPart(2 << 20)
        try SecureSession.removePartialDownload(to: server.target)
        #expect(try server.left.isEmpty)
        await server.loading.shutdown()
    }
}
