internal import SallyportEventLoop
internal import SallyportLoading

// A reader's thread that waits for bytes itself has the tunnel's descriptor, and the loop does not watch it. It stays
// lent between reads: the next answer of a quick peer may come before the next read begins, and would wake the loop's
// thread.

extension TunnelStream {
    /// How long the descriptor stays lent to a reader that does not come back, in nanoseconds; up to twice as long. The
    /// end of a connection that is not read is noticed so much later.
    private static let trust: Int64 = 10_000_000

    /// - Returns: whether it is lent; false if the loop waits for something else too.
    func lend() -> Bool {
        guard let pool, mayBeLent else { return false }
        ends.isLent = true
        pool.loop.watch(descriptor, for: .none, handler: self)
        return true
    }

    /// The reader's thread has waited.
    ///
    /// - Parameter mayStay: whether the descriptor may stay lent, if there are bytes. Otherwise the loop watches it again.
    func takeBack(hasBytes: Bool, mayStay: Bool) {
        if hasBytes { isReadable = true }
        guard hasBytes, mayStay, ends.isLent, securing == nil else { return pump() }
        pumpDown()
        // A part of a TLS record brings no bytes. The reader is about to suspend, so the loop must watch for the rest.
        if ends.isLent, down.isIdle { pump() }
    }

    /// Called when everything that has come was read.
    ///
    /// - Returns: whether the descriptor is lent, and stays so.
    func staysLent() -> Bool {
        guard ends.isLent else { return false }
        guard mayBeLent, let loop = pool?.loop else {
            ends.isLent = false
            return false
        }
        if lendingTimer?.isSet == true { return true }
        let timer = lendingTimer ?? LoopTimer { [weak self] in self?.lendingIsDue() }
        lendingTimer = timer
        loop.set(timer, at: .now.advanced(byNanoseconds: Self.trust))
        return true
    }

    /// Watches the descriptor again, unless its reader came back meanwhile.
    func lendingIsDue() {
        guard ends.isLent else { return }
        if !ends.takeUse() || !staysLent() { pump() }
    }
}
