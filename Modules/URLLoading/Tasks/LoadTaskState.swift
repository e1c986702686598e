internal import SallyportLoading

/// What a task is doing.
public enum LoadTaskState: String, Sendable, Hashable, CustomStringConvertible {
    /// Not resumed yet, or suspended: nothing is read from its connection, and nothing sent.
    case suspended
    /// Resumed, and waiting for its earliest time or for a connection.
    case waiting
    /// Resumed, and waiting neither for its earliest time nor for a connection.
    case running
    /// There is a value or an error; if the value has a body, it was read to its end.
    case completed

    public var description: String { rawValue }
}

/// The decisions of a task: no I/O, no lock, no thread.
struct LoadTaskStateMachine: Sendable {
    typealias Proceeder = CheckedContinuation<Void, Never>
    typealias Listener = @Sendable () -> Void

    private enum Phase { case new, started, over }

    /// What must be done once the lock is released.
    struct Actions: Sendable {
        /// The load begins: the first resume.
        var starts = false
        /// The running load must end.
        var cancels = false
        /// The task ends without a load.
        var endsUnstarted = false
        var proceeders: [Proceeder] = []
        var listeners: [Listener] = []
    }

    private var phase = Phase.new
    private(set) var isSuspended = true
    private(set) var isCancelled = false
    private var isWaiting = false
    private(set) var priority: Double
    private var proceeders: [UInt64: Proceeder] = [:]
    private var listeners: [UInt64: Listener] = [:]
    private var nextNumber: UInt64 = 0

    init(priority: Double) { self.priority = Self.clamped(priority) }

    var state: LoadTaskState {
        switch phase {
        case .over: .completed
        case .new, .started: isSuspended ? .suspended : isWaiting ? .waiting : .running
        }
    }

    // MARK: The app's side

    mutating func resumed() -> Actions {
        guard phase != .over, isSuspended else { return Actions() }
        isSuspended = false
        let starts = phase == .new
        phase = .started
        return Actions(starts: starts, proceeders: takeProceeders(), listeners: Array(listeners.values))
    }

    /// The value is awaited: a new task begins, and a suspended one stays suspended.
    mutating func beganByValue() -> Actions { phase == .new ? resumed() : Actions() }

    mutating func suspended() -> Actions {
        guard phase == .started, !isSuspended else { return Actions() }
        isSuspended = true
        return Actions(listeners: Array(listeners.values))
    }

    mutating func cancelled() -> Actions {
        guard phase != .over, !isCancelled else { return Actions() }
        isCancelled = true
        guard phase == .started else {
            phase = .over
            return Actions(endsUnstarted: true)
        }
        return Actions(cancels: true, proceeders: takeProceeders(), listeners: Array(listeners.values))
    }

    /// The last reference to the task is gone. If it is suspended, it can never be resumed, so it ends.
    mutating func abandoned() -> Actions { isSuspended ? cancelled() : Actions() }

    mutating func prioritised(_ priority: Double) -> Actions {
        let priority = Self.clamped(priority)
        guard phase != .over, priority != self.priority else { return Actions() }
        self.priority = priority
        return Actions(listeners: Array(listeners.values))
    }

    private static func clamped(_ priority: Double) -> Double { priority.isNaN ? 0.5 : min(max(priority, 0), 1) }

    // MARK: The load's side

    mutating func waits(_ isWaiting: Bool) { self.isWaiting = isWaiting }

    mutating func ended() -> Actions {
        phase = .over
        listeners = [:]
        return Actions(proceeders: takeProceeders())
    }

    mutating func drawNumber() -> UInt64 {
        nextNumber += 1
        return nextNumber
    }

    /// A caller waits until the task is not suspended.
    mutating func proceeds(_ number: UInt64, _ proceeder: Proceeder) -> Actions {
        guard isSuspended, !isCancelled, phase != .over, !Task.isCancelled else {
            return Actions(proceeders: [proceeder])
        }
        proceeders[number] = proceeder
        return Actions()
    }

    mutating func gaveUp(_ number: UInt64) -> Actions {
        Actions(proceeders: [proceeders.removeValue(forKey: number)].compactMap(\.self))
    }

    mutating func attached(_ listener: @escaping Listener) -> UInt64 {
        let number = drawNumber()
        if phase != .over { listeners[number] = listener }
        return number
    }

    mutating func detached(_ number: UInt64) { listeners[number] = nil }

    private mutating func takeProceeders() -> [Proceeder] {
        defer { proceeders = [:] }
        return Array(proceeders.values)
    }
}
