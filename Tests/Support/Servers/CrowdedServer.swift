internal import Glibc
internal import Synchronization

/// A server whose queue of connections is full until ``open(_:)``. The kernel drops the SYN of each client, which sends
/// it again after a second: a connection takes a while to be made, as to a server that is far away.
package final class CrowdedServer: Sendable {
    package let port: UInt16
    private let listener: Int32
    /// The connection that fills the queue.
    private let crowd: Int32
    private let isOpen = Atomic(false)

    package init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        port = try LoopbackPort.give(to: listener)
        guard listen(listener, 0) == 0, let crowd = LoopbackPort.connect(port) else {
            throw TestServerError.cannotListen
        }
        self.crowd = crowd
    }

    deinit {
        close(crowd)
        if !isOpen.load(ordering: .relaxed) { close(listener) }
    }

    /// Whether a client's SYN waits for an answer.
    package var isAwaited: Bool { LoopbackPort.isAwaited(port) }

    /// Takes connections from now on. Called once.
    package func open(_ handler: @escaping @Sendable (TestConnection) -> Void) -> TestServer {
        isOpen.store(true, ordering: .relaxed)
        return TestServer(at: port, listener, handler)
    }
}
