internal import Glibc

/// Ports of 127.0.0.1.
package enum LoopbackPort {
    /// Those that servers of this process take. Processes of tests that run side by side, as `Tests/Scripts/test` starts
    /// them, have ranges of their own: what is free for one is not taken by another the moment after.
    private static let range = {
        let share = 12_000 / UInt16(TestRing.count)
        let start = 20_000 + UInt16(TestRing.number) * share
        return start..<(start + share)
    }()

    /// One that may be taken.
    package static func random() -> UInt16 { .random(in: range) }

    /// Whether something takes connections there.
    package static func isTaken(_ port: UInt16) -> Bool {
        guard let descriptor = connect(port) else { return false }
        close(descriptor)
        return true
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
