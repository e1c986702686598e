internal import SallyportBase
internal import Synchronization

/// Broadcasts committed changes to the watchers of a collection.
///
/// A lock and not an actor: the writer's thread broadcasts a commit before it continues, so that all watchers see
/// commits in order, and a watcher ends in a `deinit`, its reader when a task is cancelled.
final class ChangeHub: Sendable {
    private struct State {
        var watchers: [UInt64: Watched] = [:]
        var nextNumber: UInt64 = 0
        var isOver = false

        mutating func told(_ kinds: [[UInt8]: [StoreEvent.Kind]]) -> [ChangeQueue.Resumption] {
            watchers.keys.sorted().flatMap { number -> [ChangeQueue.Resumption] in
                guard let identifier = watchers[number]?.identifier, let kinds = kinds[identifier] else { return [] }
                return watchers[number]?.queue.told(kinds) ?? []
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
            return state.watchers.keys.flatMap { number -> [ChangeQueue.Reader] in
                state.watchers[number]?.queue.ended() ?? []
            }
        }
        for reader in readers { reader.resume(returning: nil) }
    }

    fileprivate func waitingReaders(of number: UInt64) -> Int {
        state.withLock { $0.watchers[number]?.queue.waitingReaders ?? 0 }
    }

    fileprivate func cancel(_ number: UInt64, _ turn: Int) {
        let reader = state.withLock { $0.watchers[number]?.queue.cancelled(turn) }
        reader?.resume(returning: nil)
    }

    /// Called by the reader's task. It looks for a cancellation within the lock: one that comes later finds the reader.
    fileprivate func read(_ number: UInt64, _ turn: Int, _ reader: ChangeQueue.Reader) {
        let step = state.withLock { state in
            state.watchers[number]?.queue.reads(reader, turn, isCancelled: Task.isCancelled) ?? .now(nil)
        }
        if case .now(let notice) = step { reader.resume(returning: notice) }
    }
}

/// The changes of a collection for one sequence, which any number of tasks may read.
final class Watcher: Sendable {
    private let number: UInt64
    private let hub: ChangeHub
    private let turns = Atomic(0)

    fileprivate init(_ number: UInt64, of hub: ChangeHub) {
        self.number = number
        self.hub = hub
    }

    deinit { hub.leave(number) }

    /// How many calls of ``next(isolation:)`` wait.
    var waitingReaders: Int { hub.waitingReaders(of: number) }

    func next(isolation actor: isolated (any Actor)?) async -> ChangeQueue.Notice? {
        let turn = turns.add(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: actor) { hub.read(number, turn, $0) }
        } onCancel: {
            hub.cancel(number, turn)
        }
    }
}
