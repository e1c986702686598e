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
