internal import SallyportCore
internal import SallyportEventLoop

/// The time limits of a tunnel.
struct TunnelLimits {
    private let idleTimeout: Duration?
    /// Whether time counts as idle even if no task on this side waits for the tunnel.
    private let countsPauses: Bool
    private var deadline: LoopInstant
    private var lastMove = LoopInstant.never
    /// When the server must have ended its side, after we have ended ours.
    private var endBy = LoopInstant.never

    init(idleTimeout: Duration?, countsPauses: Bool, deadline: ContinuousClock.Instant?) {
        self.idleTimeout = idleTimeout
        self.countsPauses = countsPauses
        self.deadline = deadline.map { LoopInstant($0) } ?? .never
    }

    var hasIdleTimeout: Bool { idleTimeout != nil }
    /// Whether the idle time starts again with each read and each write.
    var beginsWithCalls: Bool { idleTimeout != nil && !countsPauses }

    mutating func moved(at now: LoopInstant) { lastMove = now }
    mutating func end(by instant: LoopInstant) { endBy = min(endBy, instant) }

    private var idleAt: LoopInstant {
        guard let idleTimeout, lastMove != .never else { return .never }
        return lastMove.advanced(by: idleTimeout)
    }

    var dueAt: LoopInstant { min(idleAt, deadline, endBy) }

    /// - Parameter isAwaited: whether a task on this side waits for the tunnel.
    mutating func overdue(at now: LoopInstant, isAwaited: Bool) -> LoadError? {
        if now >= deadline {
            return LoadError(.resourceTimeout, at: .response, "The time for the whole stream is over.")
        }
        if now >= endBy {
            return LoadError(
                .connectionLost, at: .response, "The server did not end its side in time.", underlying: EndTimeout())
        }
        guard now >= idleAt, let idleTimeout else { return nil }
        guard countsPauses || isAwaited else {
            lastMove = now
            return nil
        }
        return LoadError(.idleTimeout, at: .response, "No byte came or went for \(idleTimeout).")
    }
}

/// A server kept its side open for too long after ours had ended: the underlying error of
/// ``LoadError/Code/connectionLost``.
package struct EndTimeout: Error, Sendable, Hashable {}
