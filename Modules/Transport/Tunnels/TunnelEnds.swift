internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// A tunnel's place among the streams of its loop: what the hooks of its pipes post.
final class TunnelPlace: LoopHandle {
    let engine: TransportEngine
    private let index = Atomic(-1)

    init(on engine: TransportEngine) { self.engine = engine }

    func pump() { engine.post(.pump(self)) }
    func resumeReceiving() { engine.resumeReceiving(self) }

    /// Set and read on the loop only; atomic, because nothing else proves that.
    var place: Int {
        get { index.load(ordering: .relaxed) }
        set { index.store(newValue, ordering: .relaxed) }
    }
}

/// A tunnel as every thread may see it: its two pipes, its connection, which writers share with the loop, and its place.
final class TunnelEnds: Sendable {
    let place: TunnelPlace
    let down: BodyPipe
    let up: BodyPipe
    let wire: TunnelWire
    /// How many bytes have arrived.
    let received = Atomic(0)
    /// For the task that reads.
    private let briefWait: BriefWait
    /// At which a reader waits on its own thread.
    let descriptor: Int32
    private let lent = Atomic(false)
    private let used = Atomic(false)

    init(over wire: TunnelWire, _ descriptor: Int32, on engine: TransportEngine) {
        let place = TunnelPlace(on: engine)
        self.place = place
        self.wire = wire
        self.descriptor = descriptor
        briefWait = BriefWait(engine.waitLimits)
        down = BodyPipe(hooks: .init(hasRoom: { place.resumeReceiving() }, wasDiscarded: { place.pump() }))
        up = BodyPipe(hooks: .init(hasBytes: { place.pump() }))
    }

    func post(_ end: TransportEngine.TunnelEnd) {
        wire.end()
        place.engine.post(.end(place, end))
    }

    func post(_ order: TunnelSecuring.Order) { place.engine.post(.secure(self, order)) }

    /// Answers an order that reached no connection.
    func refuse(_ order: TunnelSecuring.Order) {
        let closed = LoadError(.connectionLost, at: .serverTLS, "The connection is over.")
        order.continuation(.failure(wire.ending ?? closed))
    }

    /// Whether the loop leaves it to the reader to wait for bytes. Set by the loop.
    var isLent: Bool {
        get { lent.load(ordering: .relaxed) }
        set { lent.store(newValue, ordering: .relaxed) }
    }

    /// A reader waits itself.
    func noteUse() { used.store(true, ordering: .relaxed) }

    /// Whether a reader has waited itself since the last call.
    func takeUse() -> Bool { used.exchange(false, ordering: .relaxed) }

    /// Waits for bytes on the caller's thread for a moment, if that is worthwhile. Bytes that are already there say
    /// nothing of how long others are to be waited for: the peer may have sent them long ago.
    ///
    /// - Returns: when the read began, for ``answered(since:)``; nil if this one tells nothing of later ones.
    func waitBriefly() -> LoopInstant? {
        let engine = place.engine
        guard !engine.loop.isCurrent else {
            leaveToLoop()
            return nil
        }
        guard down.isIdle else { return nil }
        let start = LoopInstant.now
        if briefWait.isWorthwhile { engine.waitBriefly(for: self) } else { leaveToLoop() }
        return start
    }

    /// The reader does not wait itself: the loop watches the descriptor again.
    func leaveToLoop() { if isLent { place.pump() } }

    /// A read that began then has returned.
    func answered(since start: LoopInstant) { briefWait.answered(at: .now, since: start) }

    /// Sends bytes on the caller's thread as far as they can be sent at once, and leaves the rest to the loop.
    func write(_ bytes: [UInt8]) -> BodyPipe.PushResult {
        guard up.isIdle && !place.engine.isEnding, let count = wire.sendAtOnce(bytes) else { return up.push(bytes) }
        guard count < bytes.count else { return .more }
        defer { wire.handedOver() }
        return up.push(Array(bytes[count...]))
    }
}
