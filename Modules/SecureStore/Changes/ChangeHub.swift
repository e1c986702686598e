internal import SallyportBase

/// Hands committed changes to those who watch a collection.
final class ChangeHub: Sendable {
    private struct Weak: Sendable {
        weak let watcher: Watcher?
    }

    private struct State {
        var watchers: [[UInt8]: [UInt64: Weak]] = [:]
        var nextNumber: UInt64 = 0
        var isOver = false
    }

    private let state = Lock(State())

    func watch(_ identifier: [UInt8]) -> Watcher {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        let watcher = Watcher { [weak self] in self?.leave(identifier, number) }
        let isOver = state.withLock { state in
            if !state.isOver { state.watchers[identifier, default: [:]][number] = Weak(watcher: watcher) }
            return state.isOver
        }
        if isOver { watcher.end() }
        return watcher
    }

    private func leave(_ identifier: [UInt8], _ number: UInt64) {
        state.withLock { state in
            state.watchers[identifier]?[number] = nil
            if state.watchers[identifier]?.isEmpty == true { state.watchers[identifier] = nil }
        }
    }

    func tell(_ events: [StoreEvent]) {
        guard !events.isEmpty else { return }
        for (identifier, watchers) in state.withLock({ $0.watchers }) {
            let kinds = events.filter { $0.identifier == identifier }.map(\.kind)
            guard !kinds.isEmpty else { continue }
            for (_, weak) in watchers.sorted(by: { $0.key < $1.key }) { weak.watcher?.tell(kinds) }
        }
    }

    func end() {
        let watchers = state.withLock { state in
            state.isOver = true
            defer { state.watchers = [:] }
            return state.watchers
        }
        for weak in watchers.values.flatMap(\.values) { weak.watcher?.end() }
    }
}
