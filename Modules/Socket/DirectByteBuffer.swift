public import SallyportBase
internal import SallyportLoading

/// The documented direct byte buffer: bytes are appended at its end and consumed at its beginning. What is consumed is
/// gone.
///
/// One is a socket's outbound buffer, from which `write()` sends, and one its inbound buffer, in which bytes lie until the
/// app consumes them. Calls may come from any thread; each is whole.
public final class DirectByteBuffer: Sendable {
    /// How many octets it may hold.
    public let limit: ByteCount

    private struct State {
        var octets: [UInt8] = []
        /// How many of them were consumed.
        var head = 0
        /// Who waits for room; one at most.
        var waiter: CheckedContinuation<Void, Never>?
        /// How often ``stir()`` was called.
        var stirs = 0

        var count: Int { octets.count - head }

        mutating func take(_ count: Int) -> [UInt8] {
            let taken = head == 0 && count == octets.count ? octets : Array(octets[head..<head + count])
            head += count
            if head == octets.count {
                octets = []
                head = 0
            } else if head > 64 << 10, head > octets.count / 2 {
                octets.removeFirst(head)
                head = 0
            }
            return taken
        }
    }

    private let state: Lock<State>

    public init(limit: ByteCount = .megabytes(1)) {
        self.limit = limit
        state = Lock(State())
    }

    /// Octets that were not consumed yet.
    public var bytesUnread: Int { state.withLock { $0.count } }

    // MARK: Appending

    /// Appends bytes. Sends nothing.
    ///
    /// - Throws: `bufferFull` where they are more than there is room for; nothing was appended.
    public func append(_ bytes: some Collection<UInt8>) throws(SocketError) {
        let isTaken = state.withLock { state in
            guard state.count + bytes.count <= limit.octets else { return false }
            state.octets += bytes
            return true
        }
        guard isTaken else { throw SocketError(.bufferFull, "The buffer holds at most \(limit).") }
    }

    /// Appends text as UTF-8, without a NUL.
    ///
    /// - Throws: as ``append(_:)``.
    public func append(_ text: String) throws(SocketError) { try append(text.utf8) }

    /// Appends the bytes that lie at a place in memory.
    ///
    /// - Throws: as ``append(_:)``.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(SocketError) { try unsafe append(Array(bytes)) }

    // MARK: Consuming

    /// Consumes what lies ready, at most `limit` octets.
    public func read(upTo limit: Int) -> [UInt8] { take(limit) }

    /// Consumes into a place in memory; how many octets there were, at most as many as there is room for.
    public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let bytes = take(buffer.count)
        unsafe buffer.copyBytes(from: bytes)
        return bytes.count
    }

    /// Consumes everything; nil where there is nothing.
    public func unreadBytes() -> [UInt8]? {
        let bytes = take(.max)
        return bytes.isEmpty ? nil : bytes
    }

    /// Consumes everything as text; nil, and nothing is consumed, where there is nothing or it is not UTF-8.
    public func unreadText() -> String? {
        let (text, waiter) = state.withLock { state -> (String?, CheckedContinuation<Void, Never>?) in
            guard state.count > 0, let text = String(validating: state.octets[state.head...], as: UTF8.self) else {
                return (nil, nil)
            }
            _ = state.take(state.count)
            return (text, state.waiter.take())
        }
        waiter?.resume()
        return text
    }

    private func take(_ limit: Int) -> [UInt8] {
        let (bytes, waiter) = state.withLock { state in
            let bytes = state.take(max(0, min(limit, state.count)))
            return (bytes, state.count < self.limit.octets ? state.waiter.take() : nil)
        }
        waiter?.resume()
        return bytes
    }
}

// MARK: The socket's side

extension DirectByteBuffer {
    /// Takes what came, which may be more than the limit: whoever brings it waits for room before the next.
    func fill(_ bytes: [UInt8]) { state.withLock { $0.octets += bytes } }

    var isFull: Bool { state.withLock { $0.count >= limit.octets } }

    /// What is to be sent, where it has at most `room` octets; nil, and nothing is taken, where it has more.
    func takeAll(upTo room: Int) -> [UInt8]? {
        state.withLock { $0.count <= room ? $0.take($0.count) : nil }
    }

    func clear() {
        let waiter = state.withLock { state in
            _ = state.take(state.count)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// What ``waitForRoom(since:)`` takes: read before it is found that there is something to wait for.
    var stirs: Int { state.withLock { $0.stirs } }

    /// Returns when there is room, when ``stir()`` was called since, or when the task is cancelled.
    func waitForRoom(since stirs: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (waits, other) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
                    guard state.count >= limit.octets, state.stirs == stirs, !Task.isCancelled else {
                        return (false, nil)
                    }
                    let other = state.waiter.take()
                    state.waiter = continuation
                    return (true, other)
                }
                other?.resume()
                if !waits { continuation.resume() }
            }
        } onCancel: {
            stir()
        }
    }

    /// Wakes who waits for room, or is about to, whether there is some or not.
    func stir() {
        let waiter = state.withLock { state in
            state.stirs += 1
            return state.waiter.take()
        }
        waiter?.resume()
    }
}
