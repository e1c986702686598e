/// The changes that wait for the readers of one sequence, or the readers that wait for a change: no lock, no thread.
struct ChangeQueue {
    enum Notice: Sendable {
        case event(StoreEvent.Kind)
        case missed
    }

    typealias Reader = CheckedContinuation<Notice?, Never>
    /// A reader to resume once the lock is released, and the notice for it.
    typealias Resumption = (reader: Reader, notice: Notice)

    enum Step {
        case now(Notice?)
        case wait
    }

    private var waiting: [Notice] = []
    /// In the order in which they came; none while a change waits.
    private var readers: [(turn: Int, reader: Reader)] = []
    private var isOver = false

    init(isOver: Bool = false) { self.isOver = isOver }

    var waitingReaders: Int { readers.count }

    mutating func told(_ kinds: [StoreEvent.Kind]) -> [Resumption] {
        guard !isOver else { return [] }
        for kind in kinds {
            if waiting.count >= SecureStore.maximumPendingChanges { waiting = [.missed] }
            waiting.append(.event(kind))
        }
        let served = zip(readers, waiting).map { (reader: $0.reader, notice: $1) }
        readers.removeFirst(served.count)
        waiting.removeFirst(served.count)
        return served
    }

    /// Readers still receive the waiting changes; then the sequence ends.
    mutating func ended() -> [Reader] {
        isOver = true
        defer { readers = [] }
        return readers.map(\.reader)
    }

    /// - Parameters:
    ///   - turn: distinguishes the call from others that wait.
    ///   - isCancelled: whether the reader's task is cancelled. Its changes then go to the other readers.
    mutating func reads(_ reader: Reader, _ turn: Int, isCancelled: Bool) -> Step {
        if isCancelled { return .now(nil) }
        if !waiting.isEmpty { return .now(waiting.removeFirst()) }
        if isOver { return .now(nil) }
        readers.append((turn, reader))
        return .wait
    }

    /// - Returns: the reader to resume, if it waits.
    mutating func cancelled(_ turn: Int) -> Reader? {
        guard let index = readers.firstIndex(where: { $0.turn == turn }) else { return nil }
        return readers.remove(at: index).reader
    }
}
