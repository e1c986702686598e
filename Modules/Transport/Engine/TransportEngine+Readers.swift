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
