internal import SallyportBase

/// What happened to a collection.
public enum StoreChange<Key: StoreKey>: Sendable, Hashable {
    /// A value was set.
    case set(Key)
    /// A value was removed, or swept after it had expired.
    case removed(Key)
    case removedAll
    /// Changes were dropped here, since the reader was too far behind: look at the collection anew.
    case missed
}

/// The changes of one collection, in the order in which they were committed; each comes when it is durable.
///
/// At most ``SecureStore/maximumPendingChanges`` wait for a reader. One more drops all that wait and leaves a
/// ``StoreChange/missed`` in their place; what comes after is kept again. Ends when the store closes, and for this
/// reader when its task is cancelled. Only changes of this process are seen. Single pass.
public struct StoreChanges<Key: StoreKey>: AsyncSequence, Sendable {
    public typealias Element = StoreChange<Key>
    public typealias Failure = Never

    let watcher: Watcher

    public func makeAsyncIterator() -> Iterator { Iterator(watcher: watcher) }

    public struct Iterator: AsyncIteratorProtocol {
        let watcher: Watcher

        public mutating func next() async -> StoreChange<Key>? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> StoreChange<Key>? {
            while let notice = await watcher.next(isolation: actor) {
                switch notice {
                case .missed: return .missed
                case .event(.removedAll): return .removedAll
                case .event(.set(let key)): if let key = Key(storeOctets: key) { return .set(key) }
                case .event(.removed(let key)): if let key = Key(storeOctets: key) { return .removed(key) }
                }
            }
            return nil
        }
    }
}

@available(*, unavailable)
extension StoreChanges.Iterator: Sendable {}

/// One reader's changes that wait.
final class Watcher: Sendable {
    enum Notice: Sendable {
        case event(StoreEvent.Kind)
        case missed
    }

    private struct State {
        var waiting: [Notice] = []
        var reader: CheckedContinuation<Notice?, Never>?
        var isOver = false
    }

    private let state = Lock(State())
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    deinit { onEnd() }

    func tell(_ kinds: [StoreEvent.Kind]) {
        let resumption = state.withLock { state -> (CheckedContinuation<Notice?, Never>, Notice)? in
            guard !state.isOver else { return nil }
            for kind in kinds {
                if state.waiting.count >= SecureStore.maximumPendingChanges { state.waiting = [.missed] }
                state.waiting.append(.event(kind))
            }
            guard let reader = state.reader, !state.waiting.isEmpty else { return nil }
            state.reader = nil
            return (reader, state.waiting.removeFirst())
        }
        if let (reader, notice) = resumption { reader.resume(returning: notice) }
    }

    /// What waits is still read; then the sequence ends.
    func end() {
        let reader = state.withLock { state in
            state.isOver = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    private enum Step {
        case now(Notice?)
        case wait
    }

    func next(isolation actor: isolated (any Actor)?) async -> Notice? {
        await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: actor) { continuation in
                let step = state.withLock { state -> Step in
                    precondition(state.reader == nil, "A sequence of changes has one reader.")
                    if !state.waiting.isEmpty { return .now(state.waiting.removeFirst()) }
                    if state.isOver { return .now(nil) }
                    state.reader = continuation
                    return .wait
                }
                if case .now(let notice) = step { continuation.resume(returning: notice) }
            }
        } onCancel: {
            end()
        }
    }
}
