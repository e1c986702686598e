internal import SallyportCore
internal import SallyportLoading
internal import Synchronization

/// Whether a session may still send requests: asked before a load begins, and before each of its exchanges, since a
/// load between two exchanges has nothing that the session's end could end. The same holds for the steps of a stream.
final class SessionLife: SessionPermission {
    /// The tag of the session, under which its loads are noted.
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
        generations.isOver(generation) || isInvalidated.load(ordering: .acquiring)
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
    /// Negative after the shutdown. One atomic, because each request reads it.
    private let number = Atomic(0)

    var current: Int { number.load(ordering: .acquiring) }

    /// Whether there was a shutdown.
    var areOver: Bool { current < 0 }

    /// Whether a session that was made in the generation is over.
    ///
    /// - Parameter generation: nil if only the shutdown ends the session.
    func isOver(_ generation: Int?) -> Bool {
        let present = current
        guard present >= 0, let generation else { return present < 0 }
        return generation != present
    }

    func next() { number.add(1, ordering: .acquiringAndReleasing) }

    func end() { number.store(.min, ordering: .releasing) }
}
