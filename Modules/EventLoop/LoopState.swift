/// Called on the loop when a descriptor is ready, once for each event.
package protocol DescriptorHandler: AnyObject {
    func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest)
}

/// Called on the loop in its next turn, once the loop has looked at its descriptors.
package protocol TurnTaker: AnyObject {
    /// Whether the loop was asked and has not called yet. Only the loop sets it; false at first.
    var isTurnDue: Bool { get set }

    func takeTurn()
}

/// Called on the loop when everything that was ready in one turn has been handled.
package protocol TurnObserver: AnyObject {
    func turnEnds()
}

/// The state of a loop: descriptors, timers and the observers that wait for the end of the turn. Used by the thread that
/// has the loop.
final class LoopState {
    private struct Watch {
        var interest: Interest
        var generation: UInt32
        let handler: any DescriptorHandler
    }

    /// How long a look tells which descriptors are quiet, in nanoseconds.
    private static let longestTrust: Int64 = 1_000_000
    private static let longAgo = LoopInstant(nanoseconds: 0)

    private var selector: Selector?
    /// The selector's descriptor, at which the loop's thread waits.
    let epoll: Int32
    private let bell: Bell
    private var events: [Selector.Event] = []
    /// What a look within this turn has found. The next turn finds it again, and handles it.
    private var glimpse: Selector.Eyes
    /// When the descriptors were last looked at.
    private var lastLook = LoopState.longAgo
    private var watches: [Int32: Watch] = [:]
    private var generations: UInt32 = 0
    private var timers = LoopTimers()
    private var observers: [any TurnObserver] = []
    private var takers: [any TurnTaker] = []
    /// Those of them that are called in this turn. Their lists change places, so that a turn allocates neither.
    private var dueObservers: [any TurnObserver] = []
    private var dueTakers: [any TurnTaker] = []

    init(bell: Bell) {
        self.bell = bell
        let selector = Selector(bell: bell.descriptor)
        glimpse = Selector.Eyes(selector.epoll)
        epoll = selector.epoll
        self.selector = consume selector
    }

    var hasTurnWork: Bool { !observers.isEmpty }
    /// Whether the next turn has something to do, whatever it finds.
    var hasNextTurn: Bool { !takers.isEmpty }

    // MARK: Descriptors

    func watch(_ descriptor: Int32, for interest: Interest, handler: any DescriptorHandler) {
        if let watch = watches[descriptor], watch.handler === handler {
            guard watch.interest != interest else { return }
            watches[descriptor]?.interest = interest
            selector?.change(.init(descriptor: descriptor, generation: watch.generation), interest)
            return
        }
        generations &+= 1
        watches[descriptor] = Watch(interest: interest, generation: generations, handler: handler)
        selector?.add(.init(descriptor: descriptor, generation: generations), interest)
    }

    func forget(_ descriptor: Int32, isClosed: Bool) {
        guard watches.removeValue(forKey: descriptor) != nil else { return }
        if !isClosed { selector?.remove(descriptor) }
    }

    /// Whether a watched descriptor had nothing to report at the last look. After long work in this turn, that is a new
    /// one.
    func isQuiet(_ descriptor: Int32) -> Bool {
        let now = LoopInstant.now
        if now > lastLook.advanced(byNanoseconds: Self.longestTrust) {
            glimpse.look(waits: false)
            lastLook = now
        }
        let glimpsed = glimpse.events
        return glimpsed.count < Selector.mostEvents && !glimpsed.contains { $0.token.descriptor == descriptor }
    }

    // MARK: Timers

    func set(_ timer: LoopTimer, at deadline: LoopInstant?) { timers.set(timer, at: deadline) }

    // MARK: Turns

    func callAtEndOfTurn(_ observer: any TurnObserver) { observers.append(observer) }

    func callNextTurn(_ taker: any TurnTaker) {
        guard !taker.isTurnDue else { return }
        taker.isTurnDue = true
        takers.append(taker)
    }

    /// Sets the kernel's timer, before the thread sleeps, or while it does.
    func armTimer() {
        if let deadline = timers.deadlineToArm() { selector?.armTimer(at: deadline) }
    }

    /// The thread has looked at the descriptors, and exchanges what it found for storage.
    func saw(_ found: inout [Selector.Event]) {
        swap(&events, &found)
        if !glimpse.events.isEmpty { glimpse.events.removeAll(keepingCapacity: true) }
        lastLook = events.count < Selector.mostEvents ? .now : Self.longAgo
    }

    /// Handles descriptors that were ready and timers that are due, then calls those that asked for this turn in an
    /// earlier one.
    func handleEvents() {
        if !takers.isEmpty { swap(&takers, &dueTakers) }
        for event in events { handle(event) }
        if timers.hasTimers { LoopTimer.fire(timers.takeDue(.now)) }
        guard !dueTakers.isEmpty else { return }
        for taker in dueTakers {
            taker.isTurnDue = false
            taker.takeTurn()
        }
        dueTakers.removeAll(keepingCapacity: true)
    }

    private func handle(_ event: Selector.Event) {
        let descriptor = event.token.descriptor
        if let watch = watches[descriptor] {
            // An earlier event of this turn may have closed the descriptor, and another may have its number.
            guard watch.generation == event.token.generation else { return }
            return watch.handler.descriptorIsReady(descriptor, event.readiness)
        }
        if descriptor == bell.descriptor { return bell.silence() }
        guard descriptor == selector?.timer else { return }
        selector?.silenceTimer()
        timers.timerFired()
    }

    func endTurn() {
        guard !observers.isEmpty else { return }
        swap(&observers, &dueObservers)
        for observer in dueObservers { observer.turnEnds() }
        dueObservers.removeAll(keepingCapacity: true)
    }

    func close() {
        selector = nil
        watches = [:]
        timers = LoopTimers()
        observers = []
        takers = []
        dueObservers = []
        dueTakers = []
    }
}

extension EventLoop {
    /// Reports the readiness of a descriptor to `handler`, which the loop retains until ``forget(_:isClosed:)``;
    /// replaces an earlier registration. Call it on the loop only, like the functions below.
    package func watch(_ descriptor: Int32, for interest: Interest, handler: any DescriptorHandler) {
        state.watch(descriptor, for: interest, handler: handler)
    }

    /// Stops reporting a descriptor. Must come before its number can be reused; `isClosed` saves the system call.
    package func forget(_ descriptor: Int32, isClosed: Bool = false) { state.forget(descriptor, isClosed: isClosed) }

    /// Whether a watched descriptor has been quiet, as seen at most a millisecond ago. This costs a call into the
    /// kernel only if the loop has not looked at its descriptors for so long, and then one for all of them. The next
    /// turn handles what it finds.
    ///
    /// - Returns: false if it is ready, and if it is not known.
    package func isQuiet(_ descriptor: Int32) -> Bool { state.isQuiet(descriptor) }

    /// Makes a timer fire once at an instant, or never; replaces an earlier setting.
    package func set(_ timer: LoopTimer, at deadline: LoopInstant?) { state.set(timer, at: deadline) }

    /// Calls `observer` once, when this turn's descriptors, timers and work are handled.
    package func callAtEndOfTurn(_ observer: any TurnObserver) { state.callAtEndOfTurn(observer) }

    /// Calls `taker` once, in the next turn, however often it asks before: for what would go on for long, and takes a part
    /// of its work in each turn, so that descriptors and timers do not wait for all of it. The loop does not sleep before.
    package func callNextTurn(_ taker: any TurnTaker) { state.callNextTurn(taker) }
}
