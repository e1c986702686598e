internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// Transfers a tunnel's bytes between two pipes and its connection. Made, kept and used by the engine of its loop; other
/// threads have its ends.
final class TunnelStream: LoopObject {
    /// The number of bytes taken from a pipe at once.
    private static let portion = 64 << 10
    /// The most that is still received after a failed send, in bytes: more than Linux keeps of a connection that is
    /// reset (tcp_rmem: 6 MiB), so that only a server that goes on sending meets this limit.
    private static let lastBytes = 8 << 20

    let ends: TunnelEnds
    let down: BodyPipe
    let up: BodyPipe
    let wire: TunnelWire
    let scratch: Scratch
    let opening: TunnelOpening
    private(set) var pool: Pool?
    let descriptor: Int32
    /// Bytes that were taken from the pipe and not sent yet.
    var unsent: ArraySlice<UInt8> = []
    /// The state of TLS that is being begun; nil while bytes flow.
    var securing: TunnelSecuring?
    private var isDownFull = false
    /// Nil before the descriptor is lent for the first time.
    var lendingTimer: LoopTimer?
    /// There may be bytes to read; otherwise the connection reports when it is ready for `readInterest`.
    var isReadable = true
    private var readInterest = Interest.read
    /// What the connection must be ready for before more can be sent; empty if nothing waits.
    var sendInterest: Interest = []
    /// The last read returned many bytes.
    private var isFlooding = false
    /// The next turn of the loop reads on.
    var isTurnDue = false
    private(set) var isDownEnded = false
    private var isUpEnded = false
    private var isClosed = false
    /// Whether the connection broke and waits to be freed until the reason may be known.
    private(set) var isLost = false
    /// Ended by this side before both directions had come to their end.
    private var isGivenUp = false

    /// Whether it ends on its own, without anyone who reads or writes.
    private var isEndingAlone = false

    init(_ opening: TunnelOpening, _ pool: Pool, _ link: TunnelLink, _ facts: StreamFacts) {
        self.opening = opening
        self.pool = pool
        descriptor = link.descriptor
        scratch = pool.share.scratch
        wire = TunnelWire(link, opening.request.limits, facts)
        wire.received()
        ends = TunnelEnds(over: wire, descriptor, on: opening.handle.engine)
        (down, up) = (ends.down, ends.up)
        pool.share.streams.insert(self)
    }

    var handle: TunnelPlace { ends.place }

    // MARK: Bytes

    func start(with first: [UInt8]) {
        if !first.isEmpty { received(first) }
        pump()
    }

    /// Transfers as many bytes as possible in both directions, and waits for the rest.
    func pump() {
        guard pool != nil, !isLost else { return }
        ends.isLent = false
        guard securing == nil else { return goOnSecuring() }
        sendInterest = sendAll()
        pumpDown()
    }

    /// Receives for a reader that has room again.
    ///
    /// - Returns: whether it was done; false while TLS is begun.
    func receives() -> Bool {
        guard securing == nil else { return false }
        ends.isLent = false
        if pool != nil, !isLost { pumpDown() }
        return true
    }

    func pumpDown() {
        // Only its reader makes room, not what is written meanwhile.
        if isDownFull, down.hasRoom { isDownFull = false }
        receiveAll()
        guard pool != nil, !isLost else { return }
        if isUpEnded && isDownEnded { return close() }
        if staysLent() { return }
        wait(for: !isDownFull && !isDownEnded ? sendInterest.union(readInterest) : sendInterest)
    }

    /// Whether the loop waits for nothing but bytes to read.
    var mayBeLent: Bool {
        securing == nil && sendInterest.isEmpty && readInterest == .read && !isReadable && !isDownFull && !isDownEnded
    }

    /// Waits until the socket is ready for this.
    func wait(for interest: Interest) {
        guard let pool else { return }
        if interest.isEmpty {
            pool.loop.forget(descriptor)
        } else {
            pool.loop.watch(descriptor, for: interest, handler: self)
        }
    }

    /// - Returns: what the connection must be ready for before there is more to do.
    private func sendAll() -> Interest {
        while !isUpEnded {
            guard fillUnsent() else { return [] }
            switch unsent.isEmpty ? wire.endSending() : wire.send(unsent) {
            case .moved(let count), .drained(let count): unsent = unsent.dropFirst(count)
            case .waits(let interest): return interest
            case .ended: isUpEnded = true
            case .failed:
                receiveLast()
                fail()
            }
        }
        return []
    }

    /// Passes on what came before the connection was found broken: a server may answer and then reset. There is no
    /// later turn to read, so the pipe takes the bytes even if it is full.
    private func receiveLast() {
        var rest = Self.lastBytes
        while rest > 0 && !isDownEnded {
            let (chunk, outcome) = unsafe scratch.chunk { unsafe wire.receive(into: $0) }
            rest -= chunk.count
            if !chunk.isEmpty { received(chunk) }
            switch outcome {
            case .moved, .drained: break
            case .ended:
                isDownEnded = true
                down.finish()
            case .waits, .failed: return
            }
        }
    }

    /// - Returns: false if there is nothing to do now. If it is true and there is nothing to send, the direction must
    ///   be ended.
    private func fillUnsent() -> Bool {
        guard unsent.isEmpty else { return true }
        wire.beginSending()
        switch up.take(upTo: Self.portion) {
        case .bytes(let bytes): unsent = bytes[...]
        case .end: break
        case .empty:
            wire.stopSending()
            return false
        case .failed:
            isUpEnded = true
            return false
        }
        return true
    }

    private func receiveAll() {
        var rest = TunnelWire.turn
        var isHeld = false
        while isReadable && !isDownFull && !isDownEnded {
            // Its reader goes on until the pipe is full: the loop would have to be woken for the rest.
            guard rest > 0 || pool?.loop.isBorrowed == true else {
                pool?.loop.callNextTurn(self)
                return
            }
            let (chunk, outcome) = unsafe scratch.chunk(filling: isFlooding ? Scratch.length : nil) {
                unsafe wire.receive(into: $0)
            }
            isFlooding = Scratch.isMuch(chunk.count)
            rest -= chunk.count
            if !chunk.isEmpty {
                isHeld = outcome.isMoved && rest > 0
                received(chunk, isHeld: isHeld)
            }
            switch outcome {
            case .moved: break
            case .drained: waitToRead(until: .read)
            case .waits(let interest): waitToRead(until: interest)
            case .ended:
                isDownEnded = true
                down.finish()
            case .failed: fail()
            }
        }
        if isHeld { down.release() }
    }

    private func waitToRead(until interest: Interest) {
        isReadable = false
        readInterest = interest
    }

    /// - Parameter isHeld: whether more is read at once.
    private func received(_ chunk: [UInt8], isHeld: Bool = false) {
        ends.received.add(chunk.count, ordering: .relaxed)
        wire.received()
        switch down.push(chunk, isHeld: isHeld) {
        case .more: break
        case .full: isDownFull = true
        // The reader is gone, so nothing more is reported to it; the connection ends with the other direction.
        case .closed: isDownEnded = true
        }
    }

    /// The connection broke.
    func fail() { lose(wire.failure(isHalfClosed: isUpEnded)) }

    /// Ends the use of the connection, with a reset. A loss that a relay caused is reported once its reason may be
    /// known: until then nothing is read or sent, and readers and writers wait.
    func lose(_ failure: LoadError) {
        guard let pool, !isLost else { return }
        (isLost, isUpEnded, isDownEnded) = (true, true, true)
        wire.end()
        pool.loop.forget(descriptor)
        pool.lost(opening, failure)
    }

    private func end(with reason: LoadError) {
        let isRegular = isUpEnded && isDownEnded && !isLost
        if !isRegular { wire.broke(reason) }
        // Writers first: a task that has read the end must find it when it writes.
        up.discard()
        // Bytes that came before a failed handshake must not be taken for bytes protected by TLS.
        if securing != nil { down.discard() }
        // Bytes that arrived before a withdrawal are not passed to an app that is withdrawn.
        if reason.code == .withdrawn { down.discard() } else { down.finish(reason) }
    }

    // MARK: End

    func end(_ end: TransportEngine.TunnelEnd) {
        switch end {
        case .close: close()
        case .released:
            down.discard()
            if !isEndingAlone { giveUp() }
        case .reset: giveUp()
        case .shutdown(let limit): shutDown(within: limit)
        }
    }

    private func shutDown(within limit: Duration) {
        up.finish()
        guard let pool else { return }
        isEndingAlone = true
        wire.end(by: pool.now.advanced(by: limit))
        pool.watchdog.watch(opening)
        pump()
    }

    /// Closes the connection. On the loop.
    private func close() {
        isClosed = true
        giveUp()
    }

    private func giveUp() {
        isGivenUp = !(isUpEnded && isDownEnded)
        pool?.end(opening, LoadError(.connectionLost, at: .response, "The tunnel was closed."))
    }

    /// The connection is about to be freed.
    func detach(_ failure: LoadError) {
        guard let pool = self.pool else { return }
        self.pool = nil
        let link = wire.takeLink()
        // What was sent before a loss must not look complete to the server, even if the owner has closed the tunnel
        // since: a relay that has ended one direction would carry a close_notify in the other one.
        let isRegular = isClosed && !isLost
        if !isRegular { link?.willReset() }
        link?.free(isRegular: isRegular)
        pool.loop.forget(descriptor)
        if let lendingTimer { pool.loop.set(lendingTimer, at: nil) }
        end(with: failure)
        securing.take()?.continuation?(.failure(failure))
        wire.ended()
        pool.share.streams.remove(self)
    }
}

// MARK: Record

extension TunnelStream {
    /// After the end: the negotiated TLS, the numbers of bytes, and how it ended.
    func describe(to report: inout ExchangeReport) {
        let facts = wire.facts
        report.connection = facts.connection
        (report.tlsVersion, report.tlsCipher) = (facts.tls?.version, facts.tls?.cipher)
        report.sent.body = wire.sentBytes
        report.received.body = ends.received.load(ordering: .relaxed)
        guard !isGivenUp else { return report.streamEnd = .discarded }
        report.failure = wire.ending
        report.streamEnd = wire.ending.map { .failed($0) } ?? .complete
    }
}

// MARK: Times

extension TunnelStream {
    /// The earliest instant at which the tunnel may be overdue in its present state.
    var dueAt: LoopInstant { min(wire.dueAt, securing?.limit ?? .never) }

    func overdue(at now: LoopInstant) -> LoadError? {
        // A handshake has a limit of its own, and the app may take its time to answer while it is held.
        if let securing, securing.step != .flushing { wire.received() }
        let isAwaited = down.isAwaited || !unsent.isEmpty || up.bufferedBytes > 0
        return securing?.overdue(at: now) ?? wire.overdue(at: now, isAwaited: isAwaited)
    }
}

extension TunnelStream: DescriptorHandler, TurnTaker {
    func takeTurn() { pump() }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) {
        guard pool != nil, !isLost else { return }
        ends.isLent = false
        guard securing == nil else { return goOnSecuring() }
        isReadable = true
        // The pipe reports bytes that were written since.
        if !sendInterest.isEmpty { sendInterest = sendAll() }
        // A tunnel that asked for a turn reads in `takeTurn`, which follows.
        if !isTurnDue { pumpDown() }
    }
}
