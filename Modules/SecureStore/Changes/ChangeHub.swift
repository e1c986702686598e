internal import SallyportBase

/// Broadcasts committed changes to the watchers of a collection.
///
/// A lock and not an actor: the writer's thread broadcasts a commit before it continues, so that all watchers see
/// commits in order, and a watcher ends in a `deinit` and when its task is cancelled.
final class ChangeHub: Sendable {
    private struct State {
        var watchers: [UInt64: Watched] = [:]
        var nextNumber: UInt64 = 0
        var isOver = false

        mutating func told(_ kinds: [[UInt8]: [StoreEvent.Kind]]) -> [ChangeQueue.Resumption] {
            watchers.keys.sorted().compactMap { number in
                guard let identifier = watchers[number]?.identifier, let kinds = kinds[identifier] else { return nil }
                return watchers[number]?.queue.told(kinds)
            }
        }
    }

    private struct Watched {
        let identifier: [UInt8]
        var queue: ChangeQueue
    }

    private let state = Lock(State())

    func watch(_ identifier: [UInt8]) -> Watcher {
        let number = state.withLock { state in
            state.nextNumber += 1
            state.watchers[state.nextNumber] = Watched(
                identifier: identifier, queue: ChangeQueue(isOver: state.isOver))
            return state.nextNumber
        }
        return Watcher(number, of: self)
    }

    fileprivate func leave(_ number: UInt64) { state.withLock { $0.watchers[number] = nil } }

    func tell(_ events: [StoreEvent]) {
        guard !events.isEmpty, state.withLock({ !$0.watchers.isEmpty }) else { return }
        let kinds = Dictionary(grouping: events, by: \.identifier).mapValues { $0.map(\.kind) }
        let resumptions = state.withLock { $0.told(kinds) }
        for (reader, notice) in resumptions { reader.resume(returning: notice) }
    }

    func end() {
        let readers = state.withLock { state in
            state.isOver = true
            return state.watchers.keys.compactMap { state.watchers[$0]?.queue.ended() }
        }
        for reader in readers { reader.resume(returning: nil) }
    }

    fileprivate func end(_ number: UInt64) {
        let reader = state.withLock { $0.watchers[number]?.queue.ended() }
        reader?.resume(returning: nil)
    }

    fileprivate func read(_ number: UInt64, _ reader: ChangeQueue.Reader) {
        let step = state.withLock { $0.watchers[number]?.queue.reads(reader) ?? .now(nil) }
        if case .now(let notice) = step { reader.resume(returning: notice) }
    }
}

/// One reader of a collection's changes.
final class Watcher: Sendable {
    private let number: UInt64
    private let hub: ChangeHub

    fileprivate init(_ number: UInt64, of hub: ChangeHub) {
        self.number = number
        self.hub = hub
    }

    deinit { hub.leave(number) }

    func next(isolation actor: isolated (any Actor)?) async -> ChangeQueue.Notice? {
        await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: actor) { hub.read(number, $0) }
        } onCancel: {
            hub.end(number)
        }
    }
}
