internal import CLinux
internal import Glibc

/// The kinds of readiness for which a descriptor is watched.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
    /// The peer has ended its side, even if bytes that came before are unread. It is a part of ``read``, which is
    /// reported with it; watched alone, it does not report such bytes.
    package static let end = Interest(rawValue: 8)
    /// Reported even if not requested: the peer is gone or the descriptor is broken.
    package static let hangUp = Interest(rawValue: 4)
    /// Costs less than `[]`, which goes through the protocol's generic initializer.
    package static var none: Interest { Interest(rawValue: 0) }
}

/// The epoll descriptor and the timer that belongs to it, closed with it.
@safe
struct Selector: ~Copyable {
    /// Identifies a registration: a descriptor's number, and how often the number was watched before, since a number is
    /// reused as soon as it is closed.
    struct Token: Equatable {
        var descriptor: Int32
        var generation: UInt32

        fileprivate var bits: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor)) }

        fileprivate init(bits: UInt64) {
            descriptor = Int32(bitPattern: UInt32(truncatingIfNeeded: bits))
            generation = UInt32(truncatingIfNeeded: bits >> 32)
        }

        init(descriptor: Int32, generation: UInt32) {
            self.descriptor = descriptor
            self.generation = generation
        }
    }

    struct Event {
        var token: Token
        var readiness: Interest
    }

    /// The most events of one call: if there are so many, there may be more.
    static let mostEvents = 256

    let epoll: Int32
    let timer: Int32

    init(bell: Int32) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        timer = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
        precondition(epoll >= 0 && timer >= 0, "The system allows two more descriptors.")
        add(Token(descriptor: bell, generation: 0), .read)
        add(Token(descriptor: timer, generation: 0), .read)
    }

    deinit {
        Glibc.close(timer)
        Glibc.close(epoll)
    }

    func add(_ token: Token, _ interest: Interest) { control(EPOLL_CTL_ADD, token, interest) }

    func change(_ token: Token, _ interest: Interest) { control(EPOLL_CTL_MOD, token, interest) }

    /// A closed descriptor was removed by the kernel.
    func remove(_ descriptor: Int32) { _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil) }

    private func control(_ operation: Int32, _ token: Token, _ interest: Interest) {
        var event = unsafe epoll_event()
        if interest.contains(.read) { unsafe event.events |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
        if interest.contains(.write) { unsafe event.events |= EPOLLOUT.rawValue }
        if interest.contains(.end) { unsafe event.events |= EPOLLRDHUP.rawValue }
        unsafe event.data.u64 = token.bits
        guard unsafe epoll_ctl(epoll, operation, token.descriptor, &event) != 0 else { return }
        // The number was closed and reopened without notice, or was watched already.
        let other = errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        if errno == ENOENT || errno == EEXIST { _ = unsafe epoll_ctl(epoll, other, token.descriptor, &event) }
    }

    /// Makes the timer fire at an instant of the monotonic clock.
    func armTimer(at instant: LoopInstant) {
        let nanoseconds = max(1, instant.nanoseconds)
        var value = itimerspec()
        value.it_value.tv_sec = Int(nanoseconds / 1_000_000_000)
        value.it_value.tv_nsec = Int(nanoseconds % 1_000_000_000)
        _ = unsafe timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &value, nil)
    }

    func silenceTimer() {
        var count: UInt64 = 0
        _ = unsafe Glibc.read(timer, &count, MemoryLayout<UInt64>.size)
    }
}

extension Selector {
    /// Looks at the descriptors of a selector. A value of its own: the selector may be changed by another thread while
    /// one waits.
    @safe
    struct Eyes {
        private let epoll: Int32
        private var buffer = unsafe [epoll_event](repeating: epoll_event(), count: Selector.mostEvents)
        /// What the last look has found.
        var events: [Event] = []

        /// The limit of a wait that is expected to be brief, in nanoseconds.
        private static let brief: Int64 = 4_000_000
        /// Whether the last wait was as brief, and for one descriptor.
        private var isBriefWaitExpected = false

        init(_ epoll: Int32) { self.epoll = epoll }

        /// Collects ready descriptors; if `waits`, waits for at least one event.
        mutating func look(waits: Bool) {
            events.removeAll(keepingCapacity: true)
            let count = waits ? wait() : poll(for: 0)
            guard count > 0 else { return }
            for index in 0..<Int(count) {
                let event = unsafe buffer[index]
                unsafe events.append(Event(token: Token(bits: event.data.u64), readiness: Self.readiness(event.events)))
            }
        }

        private mutating func poll(for milliseconds: Int32) -> Int32 {
            unsafe epoll_wait(epoll, &buffer, Int32(buffer.count), milliseconds)
        }

        /// Waits for at least one event.
        ///
        /// If the wait is expected to be brief, it has a limit at first: a period of most kernels' clock. The kernel then
        /// leaves that clock running. Otherwise it stops the clock and starts it again for each wait of an idle
        /// processor, which takes 7 % of a small exchange in a virtual machine. On a busy processor the limit costs more
        /// than it saves: after a wait that has found several events, or work of other threads, there is none.
        private mutating func wait() -> Int32 {
            guard isBriefWaitExpected else {
                let start = LoopInstant.now
                let count = poll(for: -1)
                isBriefWaitExpected = LoopInstant.now < start.advanced(byNanoseconds: Self.brief) && hasFoundOne(count)
                return count
            }
            let count = poll(for: Int32(Self.brief / 1_000_000))
            isBriefWaitExpected = hasFoundOne(count)
            return count > 0 ? count : poll(for: -1)
        }

        /// Whether a poll has found one watched descriptor, and neither the bell nor the timer.
        private func hasFoundOne(_ count: Int32) -> Bool {
            unsafe count == 1 && Token(bits: buffer[0].data.u64).generation != 0
        }

        private static func readiness(_ bits: UInt32) -> Interest {
            var readiness: Interest = []
            if bits & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { readiness.insert(.read) }
            if bits & EPOLLOUT.rawValue != 0 { readiness.insert(.write) }
            if bits & EPOLLRDHUP.rawValue != 0 { readiness.insert(.end) }
            if bits & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.hangUp) }
            return readiness
        }
    }
}
