/// A change in a collection.
public enum StoreChange<Key: StoreKey>: Sendable, Hashable {
    /// A value was set.
    case set(Key)
    /// A value was removed, or deleted by a sweep after it had expired.
    case removed(Key)
    /// All values of the collection were removed at once; there is no ``removed(_:)`` for each.
    case removedAll
    /// Changes were dropped here because the reader was too slow: read the collection again.
    case missed
}

/// The changes of one collection, in the order of their commits; each is delivered when it is durable.
///
/// At most ``SecureStore/maximumPendingChanges`` wait for a reader. One more drops all waiting changes and leaves a
/// ``StoreChange/missed`` in their place; later changes are queued again. The sequence ends when the store closes, and
/// for a reader whose task is cancelled. It reports only changes made by this process. Single pass.
public struct StoreChanges<Key: StoreKey>: AsyncSequence, Sendable {
    public typealias Element = StoreChange<Key>
    public typealias Failure = Never

    let watcher: Watcher

    public func makeAsyncIterator() -> Iterator { Iterator(watcher: watcher) }

    /// Iterates over the changes. Iterators of one sequence share its changes: each change goes to one of them, to the
    /// one that has waited longest.
    public struct Iterator: AsyncIteratorProtocol {
        let watcher: Watcher

        public mutating func next() async -> StoreChange<Key>? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> StoreChange<Key>? {
            while let notice = await watcher.next(isolation: actor) {
                switch notice {
                case .missed: return .missed
                case .event(.removedAll): return .removedAll
                case .event(.set(let key)): if let key = Key(storeBytes: key) { return .set(key) }
                case .event(.removed(let key)): if let key = Key(storeBytes: key) { return .removed(key) }
                }
            }
            return nil
        }
    }
}

@available(*, unavailable)
extension StoreChanges.Iterator: Sendable {}
