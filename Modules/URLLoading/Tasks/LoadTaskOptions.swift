public import FoundationEssentials
internal import SallyportBase
internal import SallyportCore

/// What a task has besides its request.
public struct LoadTaskOptions: Sendable {
    /// From 0 to 1: of the loads of a session that wait for a connection to one origin, the one with the highest
    /// priority gets it first. Other values are clamped. It does not make a server faster, and a low-priority task
    /// waits as long as others come.
    public var priority: Double
    /// The earliest time at which the load may begin. Its time-outs start then.
    public var earliestBegin: EarliestBegin

    /// - Parameters:
    ///   - priority: from 0 to 1; 0.5 by default.
    ///   - earliestBegin: by default, as soon as the task is resumed.
    public init(priority: Double = 0.5, earliestBegin: EarliestBegin = .atOnce) {
        self.priority = priority
        self.earliestBegin = earliestBegin
    }
}

/// When the load of a task may begin, at the earliest.
public struct EarliestBegin: Sendable, Hashable {
    private enum Value: Hashable {
        case atOnce
        case after(Duration)
        case at(Date)
    }
    private let value: Value

    /// As soon as the task is resumed. The app is not asked by ``SessionDelegate/session(_:willBeginDelayed:)``.
    public static let atOnce = EarliestBegin(value: .atOnce)

    /// The given time after the first `resume()`, by a clock that cannot be set.
    public static func after(_ delay: Duration) -> EarliestBegin { EarliestBegin(value: .after(delay)) }

    /// At a time of the wall clock, which is checked every minute, so that a change of the clock takes effect.
    public static func at(_ date: Date) -> EarliestBegin { EarliestBegin(value: .at(date)) }

    /// Whether the app is asked before the load begins: only if an earliest time was set, even if it has passed.
    var isDelayed: Bool { value != .atOnce }

    /// Returns when the time has come.
    ///
    /// - Throws: `cancelled` with the task.
    func wait() async throws(LoadError) {
        do {
            switch value {
            case .atOnce: return
            case .after(let delay): try await (ContinuousClock.now + delay).wait()
            case .at(let date):
                while case let left = date.timeIntervalSinceNow, left > 0 {
                    try await Task.sleep(for: .seconds(min(left, 60)))
                }
            }
        } catch {
            throw .cancelled()
        }
    }
}
