internal import Foundation
internal import Glibc
internal import Synchronization

/// Ports of 127.0.0.1.
package enum LoopbackPort {
    /// The ports for servers of this process, in the order in which they are handed out.
    ///
    /// Test processes that run at the same time, as `Tests/Scripts/test` starts them, have separate ranges: otherwise a
    /// port that one finds free could be taken by another a moment later. All lie below those that the kernel gives to
    /// outgoing connections (32768 and up), so that no client takes the port of a server that is started again.
    private static let ports = {
        let share = 21_000 / UInt16(TestRing.count)
        let start = 11_000 + UInt16(TestRing.number) * share
        return (start..<(start + share)).shuffled()
    }()

    private static let handedOut = Atomic<Int>(0)

    /// A port that no server has now. It is not handed out again before all ports of this process have been.
    package static func free() -> UInt16 {
        var port: UInt16
        repeat { port = ports[handedOut.wrappingAdd(1, ordering: .relaxed).oldValue % ports.count] } while !isFree(port)
        return port
    }

    /// Whether the port is free at all addresses of this machine, since some servers have an address of their own.
    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // There are no more descriptors: the start of the server will fail with the reason.
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        allowReuse(descriptor)
        var address = LoopbackAddress(port, host: LoopbackAddress.anyHost)
        return address.with { bind(descriptor, $0, $1.pointee) } == 0
    }

    /// Binds a socket that will listen to a free port of this process.
    static func give(to descriptor: Int32) throws -> UInt16 {
        allowReuse(descriptor)
        return try LoopbackAddress.bind(descriptor)
    }

    /// Lets a listener take a port although ended connections of an earlier one linger there (TIME_WAIT).
    static func allowReuse(_ descriptor: Int32) {
        var isAllowed: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isAllowed, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Whether something takes connections there.
    package static func isTaken(_ port: UInt16) -> Bool {
        guard let descriptor = connect(port) else { return false }
        close(descriptor)
        return true
    }

    /// Whether something listens there, found out without a connection.
    static func isListening(_ port: UInt16) -> Bool {
        sockets.contains { $0.local.hasSuffix(place(port)) && $0.state == "0A" }
    }

    /// Whether a client has a connection to the port and has not ended its side: ESTABLISHED or CLOSE_WAIT.
    static func hasClients(_ port: UInt16) -> Bool {
        sockets.contains { $0.remote.hasSuffix(place(port)) && ["01", "08"].contains($0.state) }
    }

    /// Whether a client's connection to the port is not made yet: SYN_SENT.
    static func isAwaited(_ port: UInt16) -> Bool {
        sockets.contains { $0.remote.hasSuffix(place(port)) && $0.state == "02" }
    }

    private static func place(_ port: UInt16) -> String { ":" + String(format: "%04X", port) }

    /// The kernel's table, in which the state LISTEN is 0A (proc(5)).
    private static var sockets: [(local: Substring, remote: Substring, state: Substring)] {
        let lines = KernelFile.text("/proc/net/tcp")?.split(separator: "\n") ?? []
        return lines.compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 3 else { return nil }
            return (local: fields[1], remote: fields[2], state: fields[3])
        }
    }

    /// The caller's to close; nil where nothing takes connections.
    package static func connect(_ port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = LoopbackAddress(port)
        guard address.with({ Glibc.connect(descriptor, $0, $1.pointee) }) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
