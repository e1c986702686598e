internal import Glibc
internal import SallyportBase
package import SallyportCore

/// A server on a free loopback port whose connections a test handles with blocking calls, one thread each.
///
/// Made for peers that misbehave: it stalls, resets and answers garbage at any byte. Every wait in it is bounded.
package final class TestServer: Sendable {
    package let port: UInt16
    private let listener: Int32
    private let state: Lock<State>

    private struct State {
        var accepted = 0
        var open: Set<Int32> = []
        var isStopped = false
    }

    /// - Parameters:
    ///   - receiveBuffer: about how much the kernel takes of a connection before it is read, in bytes; nil for its own
    ///     choice.
    ///   - handler: handles one connection; it is closed when the handler returns.
    package convenience init(
        receiveBuffer: Int32? = nil, _ handler: @escaping @Sendable (TestConnection) -> Void
    ) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if var receiveBuffer {
            // Before it listens: the connections inherit it.
            setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        let port = try LoopbackPort.give(to: listener)
        guard listen(listener, 1024) == 0 else { throw TestServerError.cannotListen }
        self.init(at: port, listener, handler)
    }

    /// - Parameter listener: listens at the port; the server's from now on.
    init(at port: UInt16, _ listener: Int32, _ handler: @escaping @Sendable (TestConnection) -> Void) {
        (self.port, self.listener) = (port, listener)
        state = Lock(State())
        let (listener, state) = (listener, state)
        startThread {
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                let isStopped = state.withLock { state in
                    state.accepted += 1
                    state.open.insert(descriptor)
                    return state.isStopped
                }
                if isStopped { shutdown(descriptor, Int32(SHUT_RDWR)) }
                Self.serve(descriptor, state, handler)
            }
            // Closed by the thread that uses it: the number may belong to another test at once.
            close(listener)
        }
    }

    deinit { stop() }

    private static func serve(
        _ descriptor: Int32, _ state: Lock<State>, _ handler: @escaping @Sendable (TestConnection) -> Void
    ) {
        startThread {
            handler(TestConnection(descriptor))
            state.withLock { state in
                state.open.remove(descriptor)
                _ = close(descriptor)
            }
        }
    }

    /// How many connections came so far.
    package var acceptedConnections: Int { state.withLock { $0.accepted } }

    /// Connections whose handlers run.
    package var openConnections: Int { state.withLock { $0.open.count } }

    package func url(_ path: String = "/", scheme: String = "http") throws -> RequestURL {
        try RequestURL("\(scheme)://127.0.0.1:\(port)\(path)")
    }

    package var endpoint: Endpoint { get throws { try Endpoint("127.0.0.1:\(port)") } }

    /// Ends all connections; takes new ones.
    package func closeConnections() {
        state.withLock { state in
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Ends all connections and takes no more.
    package func stop() {
        let isFirst = state.withLock { state in
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
            defer { state.isStopped = true }
            return !state.isStopped
        }
        if isFirst { shutdown(listener, Int32(SHUT_RDWR)) }
    }
}

package enum TestServerError: Error { case cannotListen }

/// One connection of a ``TestServer``, with blocking calls that give up after 20 s.
package struct TestConnection: Sendable {
    package let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// What came, at most `limit` bytes; empty at the end or on failure.
    package func read(upTo limit: Int = 65536) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, limit, 0))
        }
    }

    /// Reads until a blank line; nil where the peer ended before.
    package func readHead() -> String? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let byte = read(upTo: 1)
            if byte.isEmpty || head.count > 1 << 20 { return nil }
            head += byte
        }
        return String(decoding: head, as: UTF8.self)
    }

    /// - Returns: whether all was sent.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Answers requests one after another with one text until the peer leaves.
    package func answerAll(_ answer: String) {
        while readHead() != nil { write(answer) }
    }

    /// Waits until the peer's kernel has all that was written, at most 10 s.
    package func awaitDelivery() {
        var unsent: Int32 = 0
        for _ in 0..<2000 {
            guard ioctl(descriptor, UInt(TIOCOUTQ), &unsent) == 0, unsent > 0 else { return }
            usleep(5000)
        }
    }

    /// Waits until the peer has left, or the time of a read is over.
    package func awaitEnd() { while !read().isEmpty {} }

    /// Ends our side, and leaves the other open.
    package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the close a reset.
    package func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }
}

/// OpenSSL writes without MSG_NOSIGNAL. Only a test server's own threads are spared the signal.
private func blockBrokenPipes() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
}

private final class ThreadBody {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

func startThread(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(ThreadBody(body)).toOpaque()
    pthread_create(
        &thread, nil,
        { context in
            blockBrokenPipes()
            if let context { Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }, context)
    pthread_detach(thread)
}
