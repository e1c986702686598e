internal import Logging

/// Notices the end of a lease, so that open tunnels end with it.
struct LeaseWatch: Sendable {
    let gate: LeaseGate
    /// Where word comes from, for the log.
    let source: String
    let logger: Logger
    /// Whether the lease is over at the start as a matter of course, as at a relay that has followed nothing yet: then
    /// the log does not mention it.
    let beginsOver: Bool
    /// Has everything that is open judged again.
    let judge: @Sendable () -> Void

    /// Watches until the task is cancelled.
    func run() async {
        var wasOver = beginsOver
        while !Task.isCancelled {
            let isOver = gate.isOver
            if isOver != wasOver {
                logger.notice(
                    isOver
                        ? "There is no word from \(source): everything is refused until there is."
                        : "There is word from \(source).")
                if isOver { judge() }
            }
            wasOver = isOver
            try? await Task.sleep(for: .milliseconds(200))
        }
    }
}
