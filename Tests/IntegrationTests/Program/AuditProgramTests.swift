import Foundation
import Glibc
import SallyportCore
import TestSupport
import Testing

/// The audit trail by the program's commands.
@Suite(.timeLimit(.minutes(2))) struct AuditProgramTests {
    private let folder: TemporaryDirectory
    private var data: String { folder.file("gateway") }

    init() async throws {
        folder = try TemporaryDirectory()
        _ = try await words("gateway", "init", "--name", "localhost")
        for name in ["ann", "bob", "carl"] { _ = try await words("admin", "user", "add", name) }
    }

    private func program(_ arguments: [String]) async throws -> Outcome {
        try await ChildProcess(Programs.built("sallyport"), arguments + ["--data", data]).outcome(within: .seconds(60))
    }

    private func words(_ arguments: String...) async throws -> String {
        let outcome = try await program(arguments)
        try #require(outcome.status == 0, "\(arguments): \(outcome.error)")
        return outcome.output
    }

    private struct Entry: Decodable {
        let chain: String
        let number: Int
        let time: String
        let kind: String
        let actor: String
        let uid: Int?
        let action: String?
        let user: String?
        let outcome: String?
    }

    private func entries(_ text: String) throws -> [Entry] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(Entry.self, from: Data($0.utf8)) }
    }

    @Test func theListNamesWhoDidWhat() async throws {
        let text = try await words("admin", "audit", "list", "--kind", "administration")
        #expect(text.hasPrefix("TIME ") && text.contains(" addUser ann ") && text.contains("audit.list"))
        let json = try await words("admin", "audit", "list", "--after", "1", "--limit", "2", "--json")
        let entries = try JSONDecoder().decode([Entry].self, from: Data(json.utf8))
        #expect(entries.map(\.number) == [2, 3] && entries.map(\.user) == ["bob", "carl"])
        #expect(entries.allSatisfy { $0.actor == "directory" && $0.uid == Int(geteuid()) })
        let none = try await words("admin", "audit", "list", "--since", "2999-01-01T00:00:00Z")
        #expect(none == "no entry is kept\n")
    }

    @Test func theExportHasEveryEntry() async throws {
        let file = folder.file("trail.jsonl")
        let told = try await words("admin", "audit", "export", "--out", file)
        #expect(told == "4 lines written to \(file)\n")
        let exported = try entries(String(contentsOfFile: file, encoding: .utf8))
        #expect(exported.map(\.number) == [1, 2, 3, 4] && exported.map(\.action).last == "audit.export")
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let again = try await program(["admin", "audit", "export", "--out", file])
        #expect(again.status == 74 && again.error.contains("cannot be made"))
        let syslog = try await words("admin", "audit", "export", "--format", "syslog")
        #expect(syslog.hasPrefix("<110>1 20") && syslog.contains(" localhost sallyport - administration - {"))
    }

    @Test func anExportThatIsEndedLeavesNoFile() async throws {
        let gateway = try ChildProcess(
            Programs.built("sallyport"),
            ["gateway", "run", "--data", data, "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--json"])
        defer { gateway.signal(SIGKILL) }
        let isReady = try await eventually { gateway.output.hasSuffix("\n") || !gateway.isRunning }
        try #require(isReady && gateway.isRunning, "\(gateway.error)")
        try await gateway.pause()
        let file = folder.file("ended.jsonl")
        let export = try ChildProcess(
            Programs.built("sallyport"), ["admin", "audit", "export", "--out", file, "--data", data])
        // It waits for the gateway's answer.
        let isBegun = try await eventually {
            FileManager.default.fileExists(atPath: "\(file).partial") || !export.isRunning
        }
        try #require(isBegun && export.isRunning, "\(export.error)")
        export.signal(SIGTERM)
        let outcome = try await export.outcome(within: .seconds(30))
        #expect(outcome.status == 143, "\(outcome.error)")
        let left = [file, "\(file).partial"].filter { FileManager.default.fileExists(atPath: $0) }
        #expect(left.isEmpty)
    }

    @Test func aSoundTrailVerifiesAgainstItsCheckpoint() async throws {
        let checkpoint = try await folder.write(words("admin", "audit", "checkpoint"), to: "checkpoint.jws")
        let text = try await words("admin", "audit", "verify", "--checkpoint", checkpoint)
        #expect(text.contains("administration: entries 1 to 5\n") && text.hasSuffix("the audit trail is sound\n"))
        let wrong = try folder.write("nonsense", to: "nonsense")
        let refused = try await program(["admin", "audit", "verify", "--checkpoint", wrong])
        #expect(refused.status == 64 && refused.error.contains("This is no checkpoint"))
    }

    /// A backup of an earlier time is put in the place of the gateway's data, and the gateway goes on.
    @Test func anOlderTrailIsFoundByALaterCheckpoint() async throws {
        try FileManager.default.copyItem(atPath: data, toPath: folder.file("older"))
        _ = try await words("admin", "user", "remove", "ann")
        let checkpoint = try await folder.write(words("admin", "audit", "checkpoint"), to: "checkpoint.jws")
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.moveItem(atPath: folder.file("older"), toPath: data)
        #expect(try await words("admin", "audit", "verify").contains("the audit trail is sound"))
        let found = try await program(["admin", "audit", "verify", "--checkpoint", checkpoint])
        #expect(found.status == 74 && found.error.contains("The audit trail was changed"))
        #expect(found.output.contains("administration entry 5: replaced: the given checkpoint has another entry"))
    }

    @Test func aRunningGatewayTellsEntriesAsTheyHappen() async throws {
        let (log, socket) = (folder.file("audit.jsonl"), folder.file("log"))
        let daemon = try LogDaemon(at: socket)
        let gateway = try ChildProcess(
            Programs.gateway,
            [
                "gateway", "run", "--data", data, "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--json",
                "--audit-log", log, "--audit-syslog", socket,
            ])
        defer { gateway.signal(SIGKILL) }
        let isReady = try await eventually(within: .seconds(30)) {
            gateway.output.hasSuffix("\n") || !gateway.isRunning
        }
        try #require(isReady && gateway.isRunning, "\(gateway.error)")
        _ = try await words("admin", "user", "add", "dora")
        let isTold = try await eventually(within: .seconds(20)) {
            let told = (try? entries(String(contentsOfFile: log, encoding: .utf8))) ?? []
            return told.contains { $0.kind == "start" }
                && told.contains { $0.user == "dora" && $0.actor == "socket" && $0.uid == Int(geteuid()) }
        }
        #expect(isTold)
        let first = try #require(daemon.receive())
        #expect(first.hasPrefix("<110>1 20") && first.contains(" localhost sallyport "))
        gateway.signal(SIGTERM)
        #expect(try await gateway.outcome(within: .seconds(30)).status == 0)
        let last = try entries(String(contentsOfFile: log, encoding: .utf8)).last
        #expect(last?.kind == "stop" && last?.chain.hasPrefix("access:") == true)
        #expect(try await words("admin", "audit", "verify").contains("the audit trail is sound"))
    }

    @Test func aPipeThatNothingReadsKeepsTheGatewayFromStarting() async throws {
        let pipe = folder.file("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let outcome = try await program([
            "gateway", "run", "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--audit-log", pipe,
        ])
        let isSaid = outcome.error.contains("nothing reads this pipe, so start its reader first")
        #expect(outcome.status == 74 && isSaid, "\(outcome.error)")
    }

    @Test func aLogThatCannotBeWrittenKeepsTheGatewayFromStarting() async throws {
        for (option, place) in [("--audit-log", "none/audit.jsonl"), ("--audit-syslog", "none")] {
            let outcome = try await program([
                "gateway", "run", "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0", option, folder.file(place),
            ])
            #expect(outcome.status == 74 && outcome.error.contains(folder.file(place)), "\(outcome.error)")
        }
    }
}

/// A Unix datagram socket, as a syslog daemon has one.
private final class LogDaemon: Sendable {
    private let descriptor: Int32

    init(at path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { [descriptor] in
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound)
    }

    deinit { close(descriptor) }

    /// The next datagram; nil after ten seconds.
    func receive() -> String? {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, 10_000) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }
}
