import ArgumentParser
import Foundation
import Glibc
import SallyportDoor
import TestSupport
import Testing

@testable import SallyportCommandLine

/// What a command does that the process of a door carries out, by what that process answers.
@Suite(.timeLimit(.minutes(1))) struct RunningDoorTests {
    private let folder: TemporaryDirectory
    private var store: String { folder.path }

    init() throws { folder = try TemporaryDirectory() }

    /// Takes one order as the process of a door does.
    ///
    /// - Parameters:
    ///   - text: what the command writes to its standard output.
    ///   - status: with which it ends then; nil if it goes on until the other process leaves.
    private func openDoor(writing text: String, status: UInt8?) throws {
        let listener = try DescriptorPassing.listen(at: CommandService.path(of: store)).descriptor
        Thread.detachNewThread {
            defer { close(listener) }
            let connection = accept(listener, nil, nil)
            defer { close(connection) }
            guard let (head, streams) = try? DescriptorPassing.receive(4, descriptors: 3, over: connection),
                (try? DescriptorPassing.receive(head.reduce(0) { $0 << 8 | Int($1) }, over: connection)) != nil
            else { return }
            StandardStreams.write(Array(text.utf8), to: streams[1])
            if let status { try? DescriptorPassing.send([0, 0, 0, status], over: connection) }
            var byte: UInt8 = 0
            if status == nil { recv(connection, &byte, 1, 0) }
            for stream in streams { close(stream) }
        }
    }

    private func adopt() throws -> RunningDoor.Adoption {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        return try RunningDoor.adopt(listener, store: store)
    }

    @Test func aSocketThatTheDoorRefusesIsNotAdopted() throws {
        try openDoor(writing: "", status: 69)
        #expect(throws: ExitCode(69)) { try adopt() }
    }

    /// It would get the command's arguments and streams.
    @Test(.enabled("takes another user", { geteuid() == 0 })) func aDoorOfAnotherUserIsNone() async throws {
        chown(store, 65534, 65534)
        let listening = """
            import socket, time
            door = socket.socket(socket.AF_UNIX)
            door.bind("door.sock")
            door.listen()
            print("ready", flush=True)
            time.sleep(60)
            """
        let become = "cd \"$1\" && exec setpriv --reuid=65534 --regid=65534 --clear-groups python3 -c \"$2\""
        let other = try ChildProcess("/bin/sh", ["-c", become, "sh", store, listening])
        #expect(try await eventually { other.output == "ready\n" }, "\(other.error)")
        #expect(CommandService.path(of: store).hasSuffix("/door.sock"))
        #expect(!RunningDoor.isOpen(for: store))
        other.signal(SIGKILL)
        _ = try await other.outcome()
    }

    @Test func aSocketIsAdoptedOnceTheDoorSaysSo() throws {
        try openDoor(writing: "adopted\n", status: nil)
        try adopt().end()
    }
}
