internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// The connection of a tunnel, which its loop shares with writing tasks: one thread at a time uses it.
///
/// A writer sends on its own thread where nothing that came before waits, and so needs no other thread to wake. No call
/// blocks; each lasts as long as TLS and the kernel take for some records.
final class TunnelWire: Sendable {
    private struct State {
        /// Nil once the connection is gone: libcurl frees what a pool shares only behind the last handle, and on the loop.
        var link: TunnelLink?
        var limits: TunnelLimits
        /// The loop has bytes that came before all others, or looks for some.
        var isLoopSending = true
        /// A writer has sent a part, and gives the rest to the loop.
        var isHandingOver = false
        /// This side is to be ended, and sends nothing more by itself.
        var isEnding = false
        /// Bytes that writers may send until the loop has had a look: one that never waits must not keep it from others.
        var allowance = TunnelWire.turn
        var facts: StreamFacts
        /// Why the connection broke; nil before it breaks, and after a regular end of both directions.
        var ending: LoadError?
        var isOver = false
        var whenOver: (@Sendable () -> Void)?

        var mayWriterSend: Bool { !isLoopSending && !isHandingOver && !isEnding && allowance > 0 }
    }

    /// In bytes. What the pipe holds: each reader that is woken costs as much as some 20 KiB of the bytes.
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

    /// What is known of the connection; more once TLS has begun on it.
    var facts: StreamFacts { state.withLock { $0.facts } }

    /// Bytes of the app's that were given to TLS, or to the socket.
    var sentOctets: Int { sent.load(ordering: .relaxed) }

    // MARK: Writers

    /// Sends what TLS and the kernel take at once, unless something that came before must be sent by the loop.
    ///
    /// - Returns: how much was sent; nil if it was not tried. If it is not all, the rest must be given to the loop
    ///   before anything else, and ``handedOver()`` called then: OpenSSL wants to see again what it has enciphered.
    func sendAtOnce(_ bytes: [UInt8]) -> Int? {
        state.withLock { state in
            guard let link = state.link, state.mayWriterSend else { return nil }
            let count = unsafe bytes.withUnsafeBytes { unsafe Self.send($0, over: link, upTo: state.allowance) }
            state.allowance -= count
            state.isHandingOver = count < bytes.count
            if count > 0 { moved(count, &state) }
            return count
        }
    }

    /// - Parameter limit: behind which nothing more is begun.
    private static func send(_ bytes: UnsafeRawBufferPointer, over link: TunnelLink, upTo limit: Int) -> Int {
        var count = 0
        while count < min(bytes.count, limit) {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[count...])
            guard case .moved(let more) = unsafe link.send(rest) else { break }
            count += more
        }
        return count
    }

    func handedOver() { state.withLock { $0.isHandingOver = false } }

    /// From now on writers send nothing by themselves. From any thread.
    func end() { state.withLock { $0.isEnding = true } }

    // MARK: Loop

    /// The loop looks for bytes, and may have some until ``stopSending()``.
    func beginSending() {
        state.withLock { state in
            state.isLoopSending = true
            state.allowance = Self.turn
        }
    }

    /// All that the loop had is sent.
    func stopSending() { state.withLock { $0.isLoopSending = false } }

    /// - Parameter bytes: not empty.
    func send(_ bytes: ArraySlice<UInt8>) -> TunnelLink.Outcome {
        state.withLock { state in
            let outcome = unsafe bytes.withUnsafeBytes { unsafe state.link?.send($0) } ?? .failed
            if case .moved(let count) = outcome { moved(count, &state) }
            return outcome
        }
    }

    func endSending() -> TunnelLink.Outcome { state.withLock { $0.link?.endSending() ?? .failed } }

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

    /// Something came.
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
