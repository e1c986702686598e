/// Fires on a loop; see ``EventLoop/set(_:at:)``.
package final class LoopTimer {
    private let handler: () -> Void
    fileprivate(set) var deadline = LoopInstant.never
    /// It was taken from the loop to fire. A timer that fires before it in the same turn may unset it, or set it anew.
    fileprivate var isTaken = false

    package init(_ handler: @escaping () -> Void) { self.handler = handler }

    /// Whether the timer will still fire.
    package var isSet: Bool { deadline != .never || isTaken }

    fileprivate func fire() {
        guard isTaken else { return }
        isTaken = false
        handler()
    }
}

/// The timers of one loop. There are few, one or two for each engine, so they are not sorted.
struct LoopTimers {
    private var timers: [LoopTimer] = []
    private var earliest = LoopInstant.never
    /// The time to which the kernel's timer is set. It is only ever moved earlier: a timer that moves later costs one
    /// needless turn instead of a system call each time.
    private var armed = LoopInstant.never

    mutating func set(_ timer: LoopTimer, at deadline: LoopInstant?) {
        let old = timer.deadline
        (timer.deadline, timer.isTaken) = (deadline ?? .never, false)
        if old == .never, timer.deadline != .never { timers.append(timer) }
        if old != .never, timer.deadline == .never { timers.removeAll { $0 === timer } }
        if timer.deadline < earliest { earliest = timer.deadline } else if old == earliest { findEarliest() }
    }

    private mutating func findEarliest() { earliest = timers.lazy.map(\.deadline).min() ?? .never }

    /// The instant to which the kernel's timer must be set before the thread sleeps; nil if it is set to an earlier
    /// one.
    mutating func deadlineToArm() -> LoopInstant? {
        guard earliest < armed else { return nil }
        armed = earliest
        return earliest
    }

    mutating func timerFired() { armed = .never }

    /// Fires the due timers, in the order of their deadlines.
    mutating func takeDue(_ now: LoopInstant) -> [LoopTimer] {
        guard earliest <= now else { return [] }
        let due = timers.filter { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
        timers.removeAll { $0.deadline <= now }
        for timer in due { (timer.deadline, timer.isTaken) = (.never, true) }
        findEarliest()
        return due
    }

    var hasTimers: Bool { earliest != .never }
}

extension LoopTimer {
    /// Fires timers taken from a loop; each may set itself and others anew, or unset others.
    static func fire(_ timers: [LoopTimer]) {
        for timer in timers { timer.fire() }
    }
}
