internal import SallyportEventLoop
internal import SallyportLoading

// Readers that have room again. Where the loop sleeps, a reader receives on its own thread: a loop that wakes for these
// bytes would only wake the reader in turn.

extension TransportEngine {
    nonisolated func resumeReceiving(_ exchange: ExchangeHandle) {
        atOnce(or: .resumeReceiving(exchange)) { $0.receives(for: exchange) }
    }

    nonisolated func resumeReceiving(_ place: TunnelPlace) {
        atOnce(or: .pump(place)) { $0.share.streams[place]?.receives() ?? false }
    }

    /// Receives for an exchange, unless libcurl does that for it.
    private func receives(for exchange: ExchangeHandle) -> Bool {
        guard let exchange = share.exchanges[exchange], exchange.attempt.connection is HTTP1Connection else {
            return false
        }
        exchange.resumeReceiving()
        return true
    }
}

// MARK: Brief waits

// Tasks that are alone on the loop, and wait for the next bytes on their own thread for a moment (`BriefWait`). The loop
// lends them the descriptor and does not watch it meanwhile, else its thread would wake for the same bytes. An exchange
// gives it back with its answer; a tunnel has it until its reader stays away.

extension TransportEngine {
    /// Whether there is neither an exchange nor a tunnel.
    var isIdle: Bool { share.exchanges.count == 0 && share.openings.count == 0 }

    /// Our own connection of an exchange.
    func connection(of exchange: ExchangeHandle) -> HTTP1Connection? {
        share.exchanges[exchange]?.attempt.connection as? HTTP1Connection
    }

    func takeBack(_ exchange: ExchangeHandle, hasBytes: Bool) {
        connection(of: exchange)?.takeBack(hasBytes: hasBytes)
    }

    /// Waits until bytes may have arrived at a tunnel, if nothing else goes on.
    nonisolated func waitBriefly(for ends: TunnelEnds) {
        guard Self.callerIsInPool, ends.isLent || lend(ends.place) else { return ends.leaveToLoop() }
        ends.noteUse()
        // A loop whose thread is awake may be reading these bytes.
        let hasBytes = loop.isAsleep && waitLimits.wait(for: ends.descriptor)
        atOnce(or: .pump(ends.place)) { engine in
            engine.share.streams[ends.place]?.takeBack(hasBytes: hasBytes, mayStay: engine.hasOneTunnelAlone)
            return true
        }
    }

    private nonisolated func lend(_ place: TunnelPlace) -> Bool {
        let isLent = loop.runIfAsleep {
            hasNoCommands && assumeIsolated { $0.hasOneTunnelAlone && $0.share.streams[place]?.lend() ?? false }
        }
        return isLent ?? false
    }

    /// Whether nothing but one open tunnel goes on. Its opening lasts as long as itself.
    private var hasOneTunnelAlone: Bool {
        share.exchanges.count == 0 && share.openings.count == 1 && share.streams.count == 1
    }

    /// Whether the current task runs on Swift's own threads. Those of another executor, such as an event loop of NIO's,
    /// have other work to do.
    static var callerIsInPool: Bool { unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor == nil } }
}
