import ArgumentParser
import Foundation
import Glibc
import SallyportBase
import SallyportDoor

/// A command that works on an app which another process may have open: that process carries it out then.
protocol SharedAppCommand: AsyncParsableCommand {
    var location: StoreLocationOptions { get }
}

/// The process that has a store open and its door with it, as other processes reach it.
struct RunningDoor {
    private let connection: Int32

    /// Nil if no door is open for the store, or one of another user: that would get all arguments and streams of the
    /// command. The store then says whose it is.
    init?(store: String) {
        guard let connection = DescriptorPassing.connect(to: CommandService.path(of: store)) else { return nil }
        guard DescriptorPassing.user(at: connection) == geteuid() else {
            close(connection)
            return nil
        }
        self.connection = connection
    }

    static func isOpen(for store: String) -> Bool {
        guard let door = RunningDoor(store: store) else { return false }
        close(door.connection)
        return true
    }

    /// Where the open door takes HTTP and SOCKS.
    static func places(of store: String) throws -> [DoorPlace] {
        var pipe: [Int32] = [-1, -1]
        guard let door = RunningDoor(store: store), Glibc.pipe(&pipe) == 0 else { throw lost }
        // The door's own error text is dropped: this process reports the failure.
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(nothing) }
        let status = try door.run(
            ["proxy", "env", "--store", store, "--shell", "json"], streams: [STDIN_FILENO, pipe[1], nothing])
        close(pipe[1])
        let text = FileHandle(fileDescriptor: pipe[0], closeOnDealloc: true).readDataToEndOfFile()
        guard status == .done, let variables = try? JSONDecoder().decode([String: String].self, from: text),
            let place = variables["SALLYPORT_DOOR"].flatMap(LoopbackArgument.init(argument:))?.place
        else { throw DoorEnvironment.noPlace }
        return [place]
    }

    /// A socket that the open door listens on.
    struct Adoption {
        fileprivate let connection: Int32
        func end() { close(connection) }
    }

    /// Returns when the door listens on the socket, which the command says by a line on its standard output.
    ///
    /// - Throws: ``lost`` if no door can be asked; the command's exit status if the door refuses, and the command has
    ///   said why.
    static func adopt(_ socket: Int32, store: String) throws -> Adoption {
        var pipe: [Int32] = [-1, -1]
        guard let door = RunningDoor(store: store), Glibc.pipe(&pipe) == 0 else { throw lost }
        defer { close(pipe[0]) }
        do {
            defer { close(pipe[1]) }
            try door.send(["proxy", "adopt", "--store", store], [socket, pipe[1], STDERR_FILENO])
        }
        var byte: UInt8 = 0
        var count = read(pipe[0], &byte, 1)
        while count < 0, errno == EINTR { count = read(pipe[0], &byte, 1) }
        guard count > 0 else {
            defer { close(door.connection) }
            throw ExitCode(try door.answer().rawValue)
        }
        return Adoption(connection: door.connection)
    }

    static let lost = CommandFailure(
        .unavailable, name: "doorLost", "The process of the door has ended, and the command with it.",
        hint: "open it again with 'sallyport proxy'")

    private func send(_ arguments: [String], _ streams: [Int32]) throws(CommandFailure) {
        let order = CommandService.Order(
            arguments: arguments, folder: FileManager.default.currentDirectoryPath, umask: ProcessMask.read(),
            store: Workplace().defaultStore)
        do {
            let body = try JSONEncoder().encode(order)
            let length = UInt32(truncatingIfNeeded: body.count).bigEndianBytes
            try DescriptorPassing.send(length + Array(body), streams, over: connection)
        } catch {
            throw Self.lost
        }
    }

    /// Lets the process carry a command out, with these streams.
    func run(
        _ arguments: [String], streams: [Int32] = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    ) throws(CommandFailure) -> ExitStatus {
        defer { close(connection) }
        try send(arguments, streams)
        // So the reader of our output sees its end as soon as the process of the door has closed its own copy.
        if streams == [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] { Workplace().closeOutput() }
        return try answer()
    }

    private func answer() throws(CommandFailure) -> ExitStatus {
        do {
            let answer = try DescriptorPassing.receive(4, over: connection).bytes
            return ExitStatus(rawValue: Int32(bitPattern: UInt32(bigEndianBytes: answer)))
        } catch {
            throw Self.lost
        }
    }
}
