/// Broadcasts elements to any number of observers, each of which has its own stream.
package final class Followers<Element: Sendable>: Sendable {
    package typealias Continuation = AsyncStream<Element>.Continuation

    private struct State {
        var isOver = false
        var next = 0
        var continuations: [Int: Continuation] = [:]
        /// The current value, if there is one: see ``Board``.
        var kept: Element?
        /// How often the value was changed.
        var version: UInt64 = 0
    }

    private let state = Lock(State())

    package init(keeping value: Element? = nil) {
        guard let value else { return }
        state.withLock { $0.kept = value }
    }

    deinit { finish() }

    /// Adds an observer, until its stream is released. The stream ends with ``finish()``, at once if that was called
    /// before.
    ///
    /// - Parameter greeting: the first element of the stream, while others may already receive later ones.
    package func follow(
        buffering policy: Continuation.BufferingPolicy, greeting: (Continuation) -> Void = { _ in }
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        let number: Int? = state.withLock { state in
            guard !state.isOver else { return nil }
            state.next += 1
            state.continuations[state.next] = continuation
            return state.next
        }
        if let number {
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.continuations.removeValue(forKey: number) }
            }
        }
        greeting(continuation)
        if number == nil { continuation.finish() }
        return stream
    }

    package func tell(_ element: Element) {
        let continuations = state.withLock { state in
            state.continuations.isEmpty ? [] : Array(state.continuations.values)
        }
        for continuation in continuations { continuation.yield(element) }
    }

    /// Ends all streams, and those that are requested later. Idempotent.
    package func finish() {
        let continuations = state.withLock { state in
            state.isOver = true
            defer { state.continuations = [:] }
            return Array(state.continuations.values)
        }
        for continuation in continuations { continuation.finish() }
    }
}

// MARK: The current value

extension Followers {
    /// The current value, and how often it was changed.
    var kept: (value: Element?, version: UInt64) { state.withLock { ($0.kept, $0.version) } }

    /// - Parameter change: changes the value and returns whether it differs.
    /// - Returns: what `change` returned.
    func keep(_ change: (inout Element?) -> Bool) -> Bool {
        state.withLock { state in
            guard change(&state.kept) else { return false }
            state.version += 1
            return true
        }
    }
}
