internal import SallyportCore
internal import Synchronization

/// Whether a session may still send requests: asked before a load begins, and before each of its exchanges, since a load
/// between two exchanges has nothing that the session's end could end.
///
/// Two atomic reads, because each request asks.
final class SessionLife: Sendable {
    /// The generation in which the session was made; nil if switching off does not invalidate it.
    let generation: Int?
    private let engine: LoadingEngine
    private let isInvalidated = Atomic(false)

    init(of engine: LoadingEngine, generation: Int?) {
        self.engine = engine
        self.generation = generation
    }

    func end() { isInvalidated.store(true, ordering: .releasing) }

    private var isOver: Bool {
        if let generation, generation != engine.currentGeneration { return true }
        return isInvalidated.load(ordering: .acquiring)
    }

    /// - Throws: `notAuthorized`, `withdrawn` or `sessionInvalidated` once the session has ended.
    func check() throws(LoadError) {
        guard isOver else { return }
        try engine.checkAuthorized()
        throw LoadingEngine.invalidated()
    }
}
