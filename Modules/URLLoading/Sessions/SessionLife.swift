internal import SallyportCore
internal import SallyportLoading
internal import Synchronization

/// Whether a session may still send requests: asked before a load begins, and before each of its exchanges, since a
/// load between two exchanges has nothing that the session's end could end. The same holds for the steps of a stream.
final class SessionLife: SessionPermission {
    /// The session's.
    let tag: String
    /// The generation in which the session was made; nil if switching off does not invalidate it.
    let generation: Int?
    // Not the engine: streams hold this, and what is registered with the engine may hold streams.
    private let gate: (any AccessGate)?
    private let loads: LoadsUnderWay
    private let generations: Generations
    private let isInvalidated = Atomic(false)

    init(of engine: LoadingEngine, tag: String, generation: Int?) {
        gate = engine.gate
        loads = engine.loads
        generations = engine.generations
        self.tag = tag
        self.generation = generation
    }

    func end() { isInvalidated.store(true, ordering: .releasing) }

    private var isOver: Bool {
        if let generation, generation != generations.current { return true }
        return isInvalidated.load(ordering: .acquiring)
    }

    func check() throws(LoadError) {
        guard isOver else { return }
        try gate?.requireAuthorized()
        throw LoadingEngine.invalidated()
    }

    func checkAccess() throws(LoadError) {
        try gate?.requireAuthorized()
        try check()
    }

    func whenEnded(_ end: @escaping @Sendable (LoadError) -> Void) -> UInt64 { loads.insert(tag, end: end) }

    func forget(_ number: UInt64) { loads.remove(number) }
}

/// Counts how often loading was turned off.
final class Generations: Sendable {
    private let number = Atomic(0)

    var current: Int { number.load(ordering: .acquiring) }

    func next() { number.add(1, ordering: .acquiringAndReleasing) }
}
