import Glibc
import SallyportEventLoop

/// A pipe whose reading end does not block.
final class Pipe: Sendable {
    let (reader, writer): (Int32, Int32)

    init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        (reader, writer) = (ends[0], ends[1])
    }

    deinit {
        close(reader)
        close(writer)
    }

    func send() { _ = write(writer, "x", 1) }

    func drain() {
        var byte = UInt8(0)
        while read(reader, &byte, 1) > 0 {}
    }
}

/// Calls a closure for each event.
final class Reader: DescriptorHandler {
    let read: () -> Void
    init(_ read: @escaping () -> Void) { self.read = read }
    func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) { read() }
}

/// Calls a closure at the end of a turn.
final class Observer: TurnObserver {
    let ended: () -> Void
    init(_ ended: @escaping () -> Void) { self.ended = ended }
    func turnEnds() { ended() }
}
