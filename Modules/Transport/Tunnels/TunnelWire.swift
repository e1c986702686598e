internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// The connection of a tunnel, which its loop shares with writing tasks: one thread at a time uses it.
///
/// A writer sends on its own thread if no earlier bytes wait, without waking another thread. No call blocks; each takes
/// only as long as TLS and the kernel need for a few records. The exception is a handshake, in which a client's key may
/// sign.
final class TunnelWire: Sendable {
    private struct State {
        /// Nil once the connection is closed: libcurl frees the shared state of a pool with the last handle, on the
        /// loop.
        var link: TunnelLink?
        var limits: TunnelLimits
        /// The loop has earlier bytes to send, or looks for some.
        var isLoopSending = true
        /// A writer has sent a part, and passes the rest to the loop.
        var isHandingOver = false
        /// This side is ending, and writers send nothing themselves.
        var isEnding = false
        /// How many bytes writers may send until the loop has had its turn: a busy writer must not starve other
        /// connections.
        var allowance = TunnelWire.turn
        var facts: StreamFacts
        /// Why the connection broke; nil before it breaks, and after a regular end of both directions.
        var ending: LoadError?
        var isOver = false
        var whenOver: (@Sendable () -> Void)?

        var mayWriterSend: Bool { !isLoopSending && !isHandingOver && !isEnding && allowance > 0 }

        mutating func note(_ outcome: TunnelLink.Outcome) { if case .failed = outcome { link?.sendFailed() } }
    }

    /// In bytes. As much as the pipe holds: waking a reader costs as much as about 20 KiB of bytes.
    static let turn = BodyPipe.Watermarks.standard.high

    private let state: Lock<State>
    private let hasIdleTimeout: Bool
    private let beginsIdlenessWithCalls: Bool
    private let sent = Atomic(0)

    init(_ link: TunnelLink, _ limits: TunnelLimits, _ facts: StreamFacts) {
        hasIdleTimeout = limits.hasIdleTimeout
        beginsIdlenessWithCalls = limits.beginsWithCalls
        state = Lock(State(link: link, limits: limits, facts: facts))
    }

    /// The facts of the connection; extended once TLS has begun on it.
    var facts: StreamFacts { state.withLock { $0.facts } }

    /// The number of the app's bytes that were passed to TLS, or to the socket.
    var sentBytes: Int { sent.load(ordering: .relaxed) }

    // MARK: Writers

    /// Sends what TLS and the kernel accept at once, unless the loop has earlier bytes to send.
    ///
    /// - Returns: the number of bytes sent; nil if it was not tried. If some are left, they must be passed to the loop
    ///   before anything else, followed by ``handedOver()``: OpenSSL requires that the same bytes are passed again.
    func sendAtOnce(_ bytes: [UInt8]) -> Int? {
        state.withLock { state in
            guard let link = state.link, state.mayWriterSend else { return nil }
            let count = unsafe bytes.withUnsafeBytes { unsafe Self.send($0, over: link, &state) }
            state.allowance -= count
            state.isHandingOver = count < bytes.count
            if count > 0 { moved(count, &state) }
            return count
        }
    }

    /// Once the writers' allowance is reached, no further record is begun.
    private static func send(_ bytes: UnsafeRawBufferPointer, over link: TunnelLink, _ state: inout State) -> Int {
        var count = 0
        while count < min(bytes.count, state.allowance) {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[count...])
            let outcome = unsafe link.send(rest)
            state.note(outcome)
            guard case .moved(let more) = outcome else { break }
            count += more
        }
        return count
    }

    func handedOver() { state.withLock { $0.isHandingOver = false } }

    /// From now on writers send nothing themselves. From any thread.
    func end() { state.withLock { $0.isEnding = true } }

    // MARK: Loop

    /// The loop looks for bytes, and may have some until ``stopSending()``.
    func beginSending() {
        state.withLock { state in
            state.isLoopSending = true
            state.allowance = Self.turn
        }
    }

    /// The loop has sent everything.
    func stopSending() { state.withLock { $0.isLoopSending = false } }

    /// - Parameter bytes: not empty.
    func send(_ bytes: ArraySlice<UInt8>) -> TunnelLink.Outcome {
        state.withLock { state in
            let outcome = unsafe bytes.withUnsafeBytes { unsafe state.link?.send($0) } ?? .failed
            state.note(outcome)
            if case .moved(let count) = outcome { moved(count, &state) }
            return outcome
        }
    }

    func endSending() -> TunnelLink.Outcome {
        state.withLock { state in
            let outcome = state.link?.endSending() ?? .failed
            state.note(outcome)
            return outcome
        }
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> TunnelLink.Outcome {
        state.withLock { unsafe $0.link?.receive(into: buffer) ?? .failed }
    }

    func failure(isHalfClosed: Bool) -> LoadError {
        state.withLock { $0.link?.failure(isHalfClosed: isHalfClosed) }
            ?? LoadError(.connectionLost, at: .response, "The tunnel was closed.")
    }

    /// Takes the connection out: from then on only the caller uses it.
    func takeLink() -> TunnelLink? { state.withLock { $0.link.take() } }

    // MARK: TLS that begins later

    /// Whether a write has sent a part of its bytes, and the rest is on its way to the loop.
    var isBeingWritten: Bool { state.withLock { $0.isHandingOver } }

    /// See ``TunnelLink/beginTLS(_:at:showing:)``. Nil if memory is exhausted, or if the connection is gone.
    func beginTLS(_ settings: HandshakeSettings, at host: Host, showing identity: ClientIdentity?) -> HandshakeRecord? {
        state.withLock { $0.link?.beginTLS(settings, at: host, showing: identity) }
    }

    func show(_ identity: ClientIdentity) { state.withLock { $0.link?.show(identity) } }

    /// One step. OpenSSL calls an `IdentitySigner` within it, so the lock is held while that signs: a signer may take
    /// other locks, such as that of PKCS#11 tokens, but must not use this tunnel.
    func handshake() -> TunnelLink.HandshakeOutcome {
        state.withLock { state in
            let outcome = state.link?.handshake() ?? .failed(isLost: true, reason: "the connection is gone")
            if case .done(let tls) = outcome { state.facts = state.facts.secured(tls) }
            return outcome
        }
    }

    // MARK: End

    /// Why the connection broke; nil while it has not broken, and after a regular end.
    var ending: LoadError? { state.withLock { $0.ending } }

    /// Records why the connection broke; only the first reason is kept.
    func broke(_ reason: LoadError) { state.withLock { if $0.ending == nil { $0.ending = reason } } }

    /// Records that the connection is gone, and calls the registered closures.
    func ended() {
        let tell = state.withLock { state in
            state.isOver = true
            return state.whenOver.take()
        }
        tell?()
    }

    /// Calls `tell` once the connection is over, in addition to those already registered; at once if it is over
    /// already.
    func whenOver(_ tell: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            guard !state.isOver else { return true }
            let others = state.whenOver
            state.whenOver = {
                others?()
                tell()
            }
            return false
        }
        if isOver { tell() }
    }

    // MARK: Times

    /// Restarts the idle time if reads and writes do so; called as one begins.
    func callBegins() { if beginsIdlenessWithCalls { state.withLock { $0.limits.moved(at: .now) } } }

    /// Bytes have arrived.
    func received() { if hasIdleTimeout { state.withLock { $0.limits.moved(at: .now) } } }

    private func moved(_ count: Int, _ state: inout State) {
        sent.add(count, ordering: .relaxed)
        if hasIdleTimeout { state.limits.moved(at: .now) }
    }

    func end(by instant: LoopInstant) { state.withLock { $0.limits.end(by: instant) } }
    var dueAt: LoopInstant { state.withLock { $0.limits.dueAt } }

    /// - Parameter isAwaited: whether a task on this side waits for the connection.
    func overdue(at now: LoopInstant, isAwaited: Bool) -> LoadError? {
        state.withLock { $0.limits.overdue(at: now, isAwaited: isAwaited) }
    }
}
