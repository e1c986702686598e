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
// lends them the descriptor and does not watch it meanwhile, else its thread would wake for the same bytes.

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
    nonisolated func waitBriefly(for place: TunnelPlace) {
        var lent: Int32?
        _ = loop.runIfAsleep { if hasNoCommands { lent = assumeIsolated { $0.lend(place) } } }
        guard let lent else { return }
        // If the loop's thread is awake, most likely these bytes have woken it, and it reads them.
        let hasBytes = loop.isAsleep && waitLimits.wait(for: lent)
        atOnce(or: .pump(place)) { engine in
            engine.share.streams[place]?.takeBack(hasBytes: hasBytes)
            return true
        }
    }

    /// Whether nothing but this tunnel goes on. Its opening lasts as long as itself.
    private func isAlone(_ place: TunnelPlace) -> Bool {
        share.exchanges.count == 0 && share.openings.count == 1 && share.streams[place] != nil
    }

    private func lend(_ place: TunnelPlace) -> Int32? {
        guard isAlone(place), Self.callerIsInPool else { return nil }
        return share.streams[place]?.lend()
    }

    /// Whether the current task runs on Swift's own threads. Those of another executor, such as an event loop of NIO's,
    /// have other work to do.
    static var callerIsInPool: Bool { unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor == nil } }
}
