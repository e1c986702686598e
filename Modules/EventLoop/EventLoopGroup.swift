internal import SallyportBase
internal import Synchronization

/// Several loops, handed out in turn.
public final class EventLoopGroup: Sendable {
    /// One loop for two processors that the process may use, at least one, for the whole process. It is never shut down.
    ///
    /// The process's CPU set and the limits of its cgroups (version 2) count, as containers have them, when the group is
    /// first used.
    public static let shared = EventLoopGroup(count: max(1, ProcessorCount.available / 2), name: "sallyport")

    /// The group's loops, each with its thread; never empty.
    public let loops: [EventLoop]
    private let turn = Atomic<UInt>(0)

    /// Starts `count` loops, whose threads are named `name-0` and so on.
    public init(count: Int, name: String) {
        precondition(count > 0, "A group has at least one loop.")
        loops = (0..<count).map { EventLoop(name: "\(name)-\($0)") }
    }

    /// The loops in turn.
    public func next() -> EventLoop {
        loops[Int(turn.wrappingAdd(1, ordering: .relaxed).oldValue % UInt(loops.count))]
    }

    /// The loop of the group on whose thread the caller runs, else the next one in turn.
    public var any: EventLoop { current ?? next() }

    /// The loop of the group on whose thread the caller runs.
    public var current: EventLoop? { loops.first { $0.isCurrent } }

    /// Shuts every loop down and waits for their threads.
    public func shutdown() async {
        for loop in loops { await loop.shutdown() }
    }
}
