internal import CLinux
internal import Glibc
internal import SallyportBase
internal import Synchronization

/// Whether a thread that has asked a peer waits for the answer itself, for a moment, instead of leaving it to the loop's:
/// what is known of one peer's answers.
///
/// Two threads that wake, the loop's for the answer and the pool's for the task, cost more than a whole short exchange.
/// But the thread that waits is missing in Swift's pool. So there is a budget of waiting: each answer within
/// ``Limits/quickness`` adds ``earned`` to it, each slower one takes away what it takes to wait for it. A peer that is slow
/// now and then is not waited for until it was quick for long.
package struct BriefWait: ~Copyable, Sendable {
    /// In nanoseconds, as the following.
    static let earned: Int64 = 10_000
    /// How much of the budget it takes.
    static let enough = 16 * earned
    static let most = 64 * earned

    private let limits: Limits
    /// No less than what the longest wait takes away.
    private let budget = Atomic<Int64>(0)

    package init(_ limits: Limits) { self.limits = limits }

    package var isWorthwhile: Bool { budget.load(ordering: .relaxed) >= Self.enough }

    /// The peer was asked and has answered. Called by one thread at a time.
    package func answered(at answer: LoopInstant, since question: LoopInstant) {
        let time = min(answer.nanoseconds - question.nanoseconds, limits.longest)
        let rest = budget.load(ordering: .relaxed)
        let new = time <= limits.quickness ? min(rest + Self.earned, Self.most) : max(rest - time, -limits.longest)
        budget.store(new, ordering: .relaxed)
    }
}

extension BriefWait {
    package struct Limits: Sendable, Hashable {
        /// What is a quick answer, in nanoseconds.
        var quickness: Int64 = 200_000
        /// The longest wait, in nanoseconds. A clock that interrupts every 4 ms, as most do, ends it without more. For a
        /// shorter wait the kernel sets a timer of the hardware and takes it back, which costs a fifth of a small exchange
        /// in a virtual machine.
        var longest: Int64 = 4_000_000

        init() {}

        package init(both limit: Duration) {
            quickness = limit.wholeNanoseconds
            longest = quickness
        }

        /// For transports that are created in the current task. Only tests set it.
        @TaskLocal package static var chosen = Limits()

        /// Waits until bytes have come at a descriptor, or the time is over.
        ///
        /// - Returns: whether there are bytes, and no end of the connection with them: that is left to the loop's thread.
        package func wait(for descriptor: Int32) -> Bool {
            // Linux has the same bits for poll(2) as for epoll, and glibc hides POLLRDHUP.
            let bytes = Int16(EPOLLIN.rawValue)
            var polled = pollfd(fd: descriptor, events: bytes | Int16(EPOLLRDHUP.rawValue), revents: 0)
            var time = timespec(tv_sec: 0, tv_nsec: Int(min(longest, 999_999_999)))
            _ = unsafe ppoll(&polled, 1, &time, nil)
            return polled.revents == bytes
        }
    }
}
