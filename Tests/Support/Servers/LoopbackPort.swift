internal import Foundation
internal import Glibc

/// Ports of 127.0.0.1.
package enum LoopbackPort {
    /// The ports for servers of this process. Test processes that run at the same time, as `Tests/Scripts/test` starts
    /// them, have separate ranges: otherwise a port that one finds free could be taken by another a moment later.
    private static let range = {
        let share = 12_000 / UInt16(TestRing.count)
        let start = 20_000 + UInt16(TestRing.number) * share
        return start..<(start + share)
    }()

    /// A port that may be free.
    package static func random() -> UInt16 { .random(in: range) }

    /// Whether something takes connections there.
    package static func isTaken(_ port: UInt16) -> Bool {
        guard let descriptor = connect(port) else { return false }
        close(descriptor)
        return true
    }

    /// The same without a connection: by the kernel's table, in which LISTEN is 0A (proc(5)).
    static func isListening(_ port: UInt16) -> Bool {
        let place = ":" + String(format: "%04X", port)
        let lines = KernelFile.text("/proc/net/tcp")?.split(separator: "\n") ?? []
        return lines.contains { line in
            let fields = line.split(separator: " ")
            return fields.count > 3 && fields[1].hasSuffix(place) && fields[3] == "0A"
        }
    }

    /// One that nothing listens at now.
    package static func free() -> UInt16 {
        var port: UInt16
        repeat { port = random() } while isTaken(port)
        return port
    }

    /// The caller's to close; nil where nothing takes connections.
    static func connect(_ port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = LoopbackAddress(port)
        guard address.with({ Glibc.connect(descriptor, $0, $1.pointee) }) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
