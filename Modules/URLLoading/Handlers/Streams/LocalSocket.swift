internal import Glibc
internal import SallyportEventLoop

/// A Unix socket of this process, for tasks: each call waits on an event loop until the kernel is ready.
///
/// One task may read while another writes. Its owner closes it.
actor LocalSocket {
    private nonisolated let loop: EventLoop
    private let descriptor: Int32
    private let watcher = Watcher()
    private var reader: CheckedContinuation<Void, Never>?
    private var writer: CheckedContinuation<Void, Never>?
    private var isClosed = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// - Parameter descriptor: this object owns it from here on.
    init(_ descriptor: Int32, on loop: EventLoop) {
        self.descriptor = descriptor
        self.loop = loop
    }

    /// The next connection of one that listens; nil once it is closed.
    func accept() async -> Int32? {
        while !isClosed {
            let connection = Glibc.accept(descriptor, nil, nil)
            if connection >= 0 {
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                return connection
            }
            guard Self.mayGoOn else { return nil }
            await wait(toWrite: false)
        }
        return nil
    }

    /// The received bytes, at most `limit`; nil at the end.
    func read(upTo limit: Int) async -> [UInt8]? {
        while !isClosed {
            var count = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
                count = unsafe recv(descriptor, buffer.baseAddress, limit, Int32(MSG_DONTWAIT))
                filled = max(0, count)
            }
            if count > 0 { return bytes }
            guard count < 0, Self.mayGoOn else { return nil }
            await wait(toWrite: false)
        }
        return nil
    }

    /// - Returns: whether all was taken.
    func write(_ bytes: [UInt8]) async -> Bool {
        var start = 0
        while start < bytes.count, !isClosed {
            let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[start...])
                return unsafe send(descriptor, rest.baseAddress, rest.count, flags)
            }
            if count > 0 {
                start += count
            } else {
                guard Self.mayGoOn else { return false }
                await wait(toWrite: true)
            }
        }
        return start == bytes.count
    }

    /// Ends our side, and leaves the other open.
    func endSending() { if !isClosed { _ = shutdown(descriptor, Int32(SHUT_WR)) } }

    /// Idempotent. Calls that wait end.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        loop.forget(descriptor)
        _ = Glibc.close(descriptor)
        reader.take()?.resume()
        writer.take()?.resume()
    }

    /// Closes it soon, from a cancellation handler.
    nonisolated func closeSoon() { _ = loop.executeIfRunning { [self] in assumeIsolated { $0.close() } } }

    private static var mayGoOn: Bool { errno == EAGAIN || errno == EINTR }

    // MARK: Readiness

    private func wait(toWrite: Bool) async {
        watcher.socket = self
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            if toWrite { writer = continuation } else { reader = continuation }
            watch()
        }
    }

    private func watch() {
        var interest: Interest = []
        if reader != nil { interest.insert(.read) }
        if writer != nil { interest.insert(.write) }
        if interest.isEmpty { loop.forget(descriptor) } else { loop.watch(descriptor, for: interest, handler: watcher) }
    }

    private func isReady(_ readiness: Interest) {
        if !readiness.isDisjoint(with: [.read, .hangUp]) { reader.take()?.resume() }
        if !readiness.isDisjoint(with: [.write, .hangUp]) { writer.take()?.resume() }
        if !isClosed { watch() }
    }

    /// Called on the loop.
    private final class Watcher: DescriptorHandler {
        weak var socket: LocalSocket?

        func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) {
            socket?.assumeIsolated { $0.isReady(readiness) }
        }
    }
}
