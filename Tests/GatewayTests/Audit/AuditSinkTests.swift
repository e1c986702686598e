import Foundation
import Glibc
import Logging
import SallyportBase
import TestSupport
import Testing

@testable import SallyportGateway

/// Where entries are told as they happen.
@Suite(.timeLimit(.minutes(1))) struct AuditSinkTests {
    private let folder: TemporaryDirectory
    private let entries = AuditChainTests.entries(3)

    init() throws { folder = try TemporaryDirectory() }

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test func aLogHasALineForEachEntryAndIsForItsOwner() throws {
        let path = folder.file("audit.jsonl")
        var log = try AuditLogFile(path)
        for entry in entries { try log.write(entry) }
        #expect(try lines(path) == entries.map(\.json))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // Another one appends.
        var other = try AuditLogFile(path)
        try other.write(entries[0])
        #expect(try lines(path).count == 4)
    }

    @Test func aLogThatWasMovedAwayIsBegunAnew() throws {
        let path = folder.file("audit.jsonl")
        var log = try AuditLogFile(path)
        try log.write(entries[0])
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        try log.write(entries[1])
        #expect(try lines(path) == [entries[1].json] && lines(path + ".1") == [entries[0].json])
        try FileManager.default.removeItem(atPath: path)
        try log.write(entries[2])
        #expect(try lines(path) == [entries[2].json])
    }

    /// A pipe that is full stands for a disk that is.
    @Test func behindAnEntryThatWasWrittenInPartANewLineBegins() throws {
        let path = folder.file("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDWR | O_NONBLOCK)
        defer { close(reader) }
        var log = try AuditLogFile(path)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        // So that one part of the entry finds room, and the next does not.
        while write(reader, buffer, Int(PIPE_BUF)) > 0 {}
        try #require(read(reader, &buffer, Int(PIPE_BUF)) == Int(PIPE_BUF))
        var event = AuditEvent(.administration, by: .embedder, at: .now, outcome: "done")
        event[.detail] = String(repeating: "a", count: 3 * Int(PIPE_BUF))
        var chain = AuditChain(.administration, after: .empty)
        let long = chain.append(event)
        #expect(throws: GatewayError(.fileSystem, "")) { try log.write(long) }
        while read(reader, &buffer, buffer.count) > 0 {}
        try log.write(entries[0])
        let count = read(reader, &buffer, buffer.count)
        #expect(String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self) == "\n\(entries[0].json)\n")
    }

    /// Opening it would wait for a reader, and the gateway would not listen before that.
    @Test func aPipeThatNothingReadsIsSaid() throws {
        let path = folder.file("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let error = #expect(throws: GatewayError(.fileSystem, "")) { try AuditLogFile(path) }
        #expect(error?.message.contains("start its reader first") == true)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        var log = try AuditLogFile(path)
        try log.write(entries[0])
        close(reader)
        #expect(throws: GatewayError(.fileSystem, "")) { try log.write(entries[1]) }
    }

    @Test func aSocketInThePlaceOfALogIsSaid() throws {
        let path = folder.file("socket")
        let listener = try DatagramListener(at: path)
        let error = #expect(throws: GatewayError(.fileSystem, "")) { try AuditLogFile(path) }
        #expect(error?.message.contains("it is a socket") == true)
        listener.close()
    }

    @Test func aLogThatCannotBeMadeIsSaid() {
        #expect(throws: GatewayError(.fileSystem, "")) { try AuditLogFile(folder.file("none/audit.jsonl")) }
        #expect(throws: GatewayError(.fileSystem, "")) { try SyslogSocket(folder.file("none"), host: "a") }
        #expect(throws: GatewayError(.invalid, "")) {
            try SyslogSocket("/" + String(repeating: "a", count: 107), host: "a")
        }
    }

    @Test func aSyslogDaemonGetsADatagramForEachEntry() throws {
        let daemon = try DatagramListener(at: folder.file("log"))
        var sink = try SyslogSocket(folder.file("log"), host: "gw.example")
        for entry in entries {
            try sink.write(entry)
            let line = try #require(daemon.receive())
            let time = AuditTime.text(entry.time)
            #expect(
                line == "<110>1 \(time) gw.example sallyport \(getpid()) administration - \(entry.json)")
        }
    }

    @Test func aDaemonThatBeganAnewIsFound() throws {
        let path = folder.file("log")
        let first = try DatagramListener(at: path)
        var sink = try SyslogSocket(path, host: "a")
        first.close()
        try FileManager.default.removeItem(atPath: path)
        #expect(throws: GatewayError(.fileSystem, "")) { try sink.write(entries[0]) }
        let second = try DatagramListener(at: path)
        try sink.write(entries[1])
        #expect(second.receive()?.contains("user2") == true)
    }

    @Test(arguments: [
        (AuditKind.refusal, "unauthorized", 108), (.lost, "lost", 108), (.connect, "opened", 110),
        (.connect, "allowed", 110), (.connect, "refused", 108),
        (.connect, "http_request_denied", 108), (.tunnel, "ended", 110), (.tunnel, "withdrawn", 108),
        (.administration, "done", 110), (.administration, "notFound", 108),
    ]) func whatWasRefusedIsAWarning(_ kind: AuditKind, _ outcome: String, _ priority: Int) {
        var chain = AuditChain(.access("a"), after: .empty)
        let entry = chain.append(AuditEvent(kind, by: .peer, at: .now, outcome: outcome))
        let line = SyslogLine.text(of: entry, host: "a b", process: nil)
        #expect(line.hasPrefix("<\(priority)>1 \(AuditTime.text(entry.time)) ab sallyport - \(kind.rawValue) - {"))
    }

    /// What was removed must not take up the disk.
    @Test func aLogThatWasRemovedIsNotHeldOpen() async throws {
        let path = folder.file("audit.jsonl")
        let outlets = AuditOutlets([try AuditLogFile(path)], logger: Logger(label: "test"))
        try FileManager.default.removeItem(atPath: path)
        outlets.tell(entries)
        outlets.finish()
        await outlets.run()
        #expect(try lines(path) == entries.map(\.json))
        // The thread that wrote lets go of the removed file after it has handed over what it wrote.
        #expect(try await eventually { openFiles(at: path) == [path] })
        withExtendedLifetime(outlets) {}
    }

    /// The files that this process has open whose paths begin so.
    private func openFiles(at path: String) -> [String] {
        let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return links.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
            .filter { $0.hasPrefix(path) }
    }

    @Test func aSinkThatBlocksDoesNotHoldTheOtherUp() async throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let path = folder.file("audit.jsonl")
        let outlets = AuditOutlets(
            [BlockedSink(gate: ends[0]), try AuditLogFile(path)], logger: Logger(label: "test"))
        outlets.tell(entries)
        outlets.finish()
        let running = Task { await outlets.run() }
        let areTold = try await eventually { (try? lines(path)) == entries.map(\.json) }
        // The sink takes everything from here on.
        close(ends[1])
        await running.value
        close(ends[0])
        #expect(areTold)
    }

    /// With a wait for each of these entries, it would take half an hour.
    @Test func aPipeThatIsNotReadHoldsTheEndUpOnce() async throws {
        let path = folder.file("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDWR | O_NONBLOCK)
        defer { close(reader) }
        let outlets = AuditOutlets(
            [try AuditLogFile(path)], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let piece = [UInt8](repeating: 0, count: Int(PIPE_BUF))
        while write(reader, piece, piece.count) > 0 {}
        outlets.tell(AuditChainTests.entries(2000))
        outlets.finish()
        await outlets.run()
    }

    @Test func aSinkThatFailsHoldsNothingUpAndIsSaidOnce() async throws {
        let log = LogRecorder()
        let outlets = AuditOutlets(
            [FailingSink()], logger: Logger(label: "test") { _ in RecordingLogHandler(recorder: log) })
        outlets.tell(entries)
        outlets.finish()
        await outlets.run()
        #expect(log.lines.filter { $0.contains("not written to a log") }.count == 1)
    }
}

/// Blocks its thread until the other end of a pipe is closed.
private struct BlockedSink: AuditSink {
    let gate: Int32

    func write(_ entry: AuditEntry) {
        var byte: UInt8 = 0
        _ = read(gate, &byte, 1)
    }
}

private struct FailingSink: AuditSink {
    func write(_ entry: AuditEntry) throws(GatewayError) { throw GatewayError(.fileSystem, "It is full.") }
}

/// A Unix datagram socket, as a syslog daemon has one.
final class DatagramListener: Sendable {
    private let descriptor: Int32

    init(at path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        self.descriptor = descriptor
        guard isBound else { throw TestFailure("no socket: \(errno)") }
    }

    /// The next datagram; nil after ten seconds.
    func receive() -> String? {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, 10_000) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    func close() { Glibc.close(descriptor) }
}
