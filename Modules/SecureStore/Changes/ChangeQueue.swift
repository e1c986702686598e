/// The changes that wait for one reader: no lock, no thread.
struct ChangeQueue {
    enum Notice: Sendable {
        case event(StoreEvent.Kind)
        case missed
    }

    typealias Reader = CheckedContinuation<Notice?, Never>
    /// The reader to resume once the lock is released, and the notice for it.
    typealias Resumption = (reader: Reader, notice: Notice)

    enum Step {
        case now(Notice?)
        case wait
    }

    private var waiting: [Notice] = []
    private var reader: Reader?
    private var isOver = false

    init(isOver: Bool = false) { self.isOver = isOver }

    mutating func told(_ kinds: [StoreEvent.Kind]) -> Resumption? {
        guard !isOver else { return nil }
        for kind in kinds {
            if waiting.count >= SecureStore.maximumPendingChanges { waiting = [.missed] }
            waiting.append(.event(kind))
        }
        guard !waiting.isEmpty, let reader = reader.take() else { return nil }
        return (reader, waiting.removeFirst())
    }

    /// The reader still receives the waiting changes; then its sequence ends.
    mutating func ended() -> Reader? {
        isOver = true
        return reader.take()
    }

    mutating func reads(_ reader: Reader) -> Step {
        precondition(self.reader == nil, "A sequence of changes has one reader.")
        if !waiting.isEmpty { return .now(waiting.removeFirst()) }
        if isOver { return .now(nil) }
        self.reader = reader
        return .wait
    }
}
