internal import CDoor
internal import Glibc
internal import SallyportBase
internal import SallyportEventLoop

/// An accepted connection, on an event loop. One task may read while another writes.
///
/// Reading and writing are for tasks that prefer the loop, as the task of a connection and its children do: they are on
/// its thread, so the actor's state is theirs without a pass through the loop's queue. On another thread these calls
/// trap. After 192 KiB in one direction a task waits for readiness in any case, so that one that never has to does not
/// starve others on the loop.
///
/// It is watched for what a task waits for. Readiness that finds no waiting task is noted and ends the watch, so that a
/// reader that comes back at once costs no call into the kernel.
actor DoorSocket: DescriptorHandler {
    /// The connection was reset, by the other side or by us.
    struct Lost: Error {}

    private static let smallRead = 4 << 10
    private static let largeRead = 64 << 10
    /// How many bytes a task may read or write without a wait.
    private static let turn = 192 << 10

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let descriptor: Int32
    private let isTCP: Bool
    private var reader: CheckedContinuation<Void, Never>?
    private var writer: CheckedContinuation<Void, Never>?
    /// Sent when the program ends its side, while a task waits for that.
    private var programsEnd: TaskSignal?
    private var watched: Interest = []
    private var isReadable = true
    private var expectsMuch = false
    /// What is left of the turn, in bytes.
    private var readAllowance = turn, writeAllowance = turn
    private var isClosed = false
    /// Why the connection was ended first, if a reason was given.
    private(set) var failure: DoorRefusal?

    /// - Parameter descriptor: non-blocking; the socket closes it.
    init(_ descriptor: Int32, isTCP: Bool, on loop: EventLoop) {
        (self.descriptor, self.isTCP, self.loop) = (descriptor, isTCP, loop)
    }

    // A watched socket is kept by its loop, so there is no watch to end here.
    deinit { if !isClosed { Glibc.close(descriptor) } }

    // MARK: Reading

    /// The next bytes; nil once the program has ended its side.
    nonisolated func read() async throws(Lost) -> [UInt8]? {
        while true {
            switch receive() {
            case .bytes(let bytes): return bytes
            case .end: return nil
            case .lost: throw Lost()
            case .nothing: await withCheckedContinuation { reader in assumeIsolated { $0.wait(toRead: reader) } }
            }
        }
    }

    private enum Received { case bytes([UInt8]), end, nothing, lost }

    private nonisolated func receive() -> Received { assumeIsolated { $0.received() } }

    private func received() -> Received {
        guard !isClosed else { return .lost }
        guard isReadable, readAllowance > 0 else { return .nothing }
        let room = expectsMuch ? Self.largeRead : Self.smallRead
        var result = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            repeat { result = unsafe recv(descriptor, buffer.baseAddress, room, 0) } while result < 0 && errno == EINTR
            count = max(0, result)
        }
        guard result >= 0 else {
            guard errno == EAGAIN else { return .lost }
            isReadable = false
            return .nothing
        }
        guard result > 0 else { return .end }
        readAllowance -= result
        // A read that leaves room has emptied the socket.
        isReadable = result == room
        expectsMuch = result == room || expectsMuch && result > Self.smallRead
        // A task that waits keeps what it has read last: a short message does not keep the room that it was read into.
        return .bytes(result < room / 2 ? unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) } : bytes)
    }

    private func wait(toRead reader: CheckedContinuation<Void, Never>) {
        guard !isClosed else { return reader.resume() }
        readAllowance = Self.turn
        self.reader = reader
        watch(for: .read)
    }

    // MARK: Writing

    /// Sends bytes; returns when the kernel has taken all of them.
    nonisolated func write(_ bytes: [UInt8]) async throws(Lost) {
        var position = 0
        while position < bytes.count {
            let rest = bytes[position...]
            switch send(rest) {
            case .bytes(let count): position += count
            case .lost: throw Lost()
            case .nothing: await withCheckedContinuation { writer in assumeIsolated { $0.wait(toWrite: writer) } }
            }
        }
    }

    private enum Sent { case bytes(Int), nothing, lost }

    private nonisolated func send(_ bytes: ArraySlice<UInt8>) -> Sent { assumeIsolated { $0.sent(bytes) } }

    private func sent(_ bytes: ArraySlice<UInt8>) -> Sent {
        guard !isClosed else { return .lost }
        guard writeAllowance > 0 else { return .nothing }
        var result = 0
        repeat {
            result = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
        } while result < 0 && errno == EINTR
        guard result >= 0 else { return errno == EAGAIN ? .nothing : .lost }
        writeAllowance -= result
        return .bytes(result)
    }

    private func wait(toWrite writer: CheckedContinuation<Void, Never>) {
        guard !isClosed else { return writer.resume() }
        writeAllowance = Self.turn
        self.writer = writer
        watch(for: .write)
    }

    /// Ends our side; reading goes on.
    func endWriting() { if !isClosed { _ = Glibc.shutdown(descriptor, Int32(SHUT_WR)) } }

    // MARK: Waiting for the end

    /// Returns when the program has ended its side, the connection is closed, or the task is cancelled. Reads nothing:
    /// what the program sends meanwhile stays with the kernel, which takes no more than its buffer holds.
    func waitForProgramsEnd() async {
        guard !isClosed else { return }
        let signal = TaskSignal()
        programsEnd = signal
        watch(for: .end)
        await signal.wait()
        programsEnd = nil
        if !isClosed { unwatch(.end) }
    }

    /// Nil once the connection is closed, whose number may be another's then.
    var openDescriptor: Int32? { isClosed ? nil : descriptor }

    // MARK: Readiness

    private func watch(for interest: Interest) {
        guard !watched.contains(interest) else { return }
        watched.formUnion(interest)
        loop.watch(descriptor, for: watched, handler: self)
    }

    nonisolated func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) {
        assumeIsolated { $0.isReady(readiness) }
    }

    private func isReady(_ readiness: Interest) {
        guard !isClosed else { return }
        let isBroken = readiness.contains(.hangUp)
        var idle: Interest = []
        if isBroken || readiness.contains(.read) {
            isReadable = true
            if reader == nil { idle.insert(.read) }
            reader.take()?.resume()
        }
        if isBroken || readiness.contains(.write) {
            if writer == nil { idle.insert(.write) }
            writer.take()?.resume()
        }
        if isBroken || readiness.contains(.end) {
            idle.insert(.end)
            programsEnd?.send()
        }
        unwatch(isBroken ? watched : idle)
    }

    private func unwatch(_ interest: Interest) {
        let left = watched.subtracting(interest)
        guard left != watched else { return }
        watched = left
        if left.isEmpty { loop.forget(descriptor) } else { loop.watch(descriptor, for: left, handler: self) }
    }

    // MARK: End

    /// Ends the connection. What the kernel has taken is still sent. Idempotent.
    func close() { end(byReset: false) }

    /// Ends the connection at once, so that the program does not take what it got for whole. Idempotent.
    func reset() { end(byReset: true) }

    /// Ends the connection at once, and keeps the reason of the first call.
    func reset(because failure: DoorRefusal) {
        self.failure = self.failure ?? failure
        reset()
    }

    /// Ends the connection as ``close()`` does, and keeps the reason of the first call.
    func close(because failure: DoorRefusal) {
        self.failure = self.failure ?? failure
        close()
    }

    private func end(byReset isReset: Bool) {
        guard !isClosed else { return }
        isClosed = true
        if !watched.isEmpty { loop.forget(descriptor) }
        if isReset, isTCP {
            var now = linger(l_onoff: 1, l_linger: 0)
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        }
        Glibc.close(descriptor)
        reader.take()?.resume()
        writer.take()?.resume()
        programsEnd?.send()
    }
}
