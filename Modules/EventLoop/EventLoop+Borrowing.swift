internal import CLinux
internal import Glibc
internal import SallyportBase
internal import Synchronization

extension EventLoop {
    /// Runs `body` as a turn of the loop on the caller's thread, while the loop's own thread waits for descriptors and
    /// nothing is enqueued.
    ///
    /// To wake a thread, and to let it sleep again, costs more than many a turn. What the turn enqueues, and events that
    /// come meanwhile, the loop's thread handles afterwards. So the turn must be short, like all work on the loop; unlike
    /// there, SIGPIPE is not blocked.
    ///
    /// - Returns: what `body` returns; nil if it has not run.
    package func runIfAsleep<Result>(_ body: () -> Result) -> Result? {
        guard inbox.queue.withLock({ $0.borrowed() }) else { return nil }
        inbox.holder.store(pthread_self(), ordering: .relaxed)
        let result = body()
        state.endTurn()
        state.armTimer()
        let isDone = !state.hasTurnWork && !state.hasNextTurn
        inbox.holder.store(0, ordering: .relaxed)
        switch inbox.queue.withLock({ $0.givenBack(isDone: isDone) }) {
        case .none: break
        case .ring: inbox.bell.ring()
        case .handOver: inbox.handover.ring()
        }
        return result
    }
}

extension EventLoop {
    /// Whether the loop's own thread waits for descriptors, and no other has the loop.
    package var isAsleep: Bool { inbox.queue.withLock { $0.isAsleep } }
}

/// Whether a thread that has asked a peer waits for the answer itself, for a moment, instead of leaving it to the loop's.
/// A value.
///
/// Two threads that wake, the loop's for the answer and the pool's for the task, cost more than a whole short exchange.
/// But the thread that waits is missing in Swift's pool, so it waits no longer than ``standardLimit``, and only for a peer
/// that has just answered several times within that time.
package struct BriefWait: Sendable, Hashable {
    /// The longest wait; the kernel may add half of it.
    static let standardLimit = Duration.microseconds(100)
    /// For transports that are created in the current task. Only tests set it.
    @TaskLocal package static var chosenLimit = standardLimit
    /// How many quick answers in a row it takes.
    static let neededAnswers = 4

    private let limit: Duration
    /// At most ``neededAnswers``.
    package var quickAnswers = 0

    package init(limit: Duration = chosenLimit) { self.limit = limit }

    /// Whether a task of this isolation may wait: no actor is held up. As a function, because the compiler fails where
    /// `#isolation` is compared in its place (6.3.1).
    package static func isAllowed(_ isolation: (any Actor)?) -> Bool { isolation == nil }

    package var isWorthwhile: Bool { quickAnswers == Self.neededAnswers }

    /// The peer has answered after this time.
    package mutating func answered(after time: Duration) {
        quickAnswers = time <= limit ? min(quickAnswers + 1, Self.neededAnswers) : 0
    }

    /// Waits until bytes have come at a descriptor, or the time is over.
    ///
    /// - Returns: whether there are bytes, and no end of the connection with them: that is left to the loop's thread.
    package func wait(for descriptor: Int32) -> Bool {
        // Linux has the same bits for poll(2) as for epoll, and glibc hides POLLRDHUP.
        let bytes = Int16(EPOLLIN.rawValue)
        var polled = pollfd(fd: descriptor, events: bytes | Int16(EPOLLRDHUP.rawValue), revents: 0)
        var time = timespec(tv_sec: 0, tv_nsec: Int(min(limit.wholeNanoseconds, 999_999_999)))
        _ = unsafe ppoll(&polled, 1, &time, nil)
        return polled.revents == bytes
    }
}
