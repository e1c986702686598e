/// All who follow what somebody tells, each by a stream of their own.
package final class Followers<Element: Sendable>: Sendable {
    package typealias Continuation = AsyncStream<Element>.Continuation

    private struct State {
        var isOver = false
        var next = 0
        var continuations: [Int: Continuation] = [:]
        /// The present value, where there is one: see ``Board``.
        var kept: Element?
        /// How often it was changed.
        var version: UInt64 = 0
    }

    private let state = Lock(State())

    package init(keeping value: Element? = nil) {
        guard let value else { return }
        state.withLock { $0.kept = value }
    }

    deinit { finish() }

    /// One more who follows, until the stream is let go of. It ends with ``finish()``, at once where that has been.
    ///
    /// - Parameter greeting: what the stream begins with, while others may be told already.
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

    /// Ends all streams, and those that are asked for later. Idempotent.
    package func finish() {
        let continuations = state.withLock { state in
            state.isOver = true
            defer { state.continuations = [:] }
            return Array(state.continuations.values)
        }
        for continuation in continuations { continuation.finish() }
    }
}

// MARK: The present value

extension Followers {
    /// The present value, and how often it was changed.
    var kept: (value: Element?, version: UInt64) { state.withLock { ($0.kept, $0.version) } }

    /// - Parameter change: says whether it left another value.
    /// - Returns: what it said.
    func keep(_ change: (inout Element?) -> Bool) -> Bool {
        state.withLock { state in
            guard change(&state.kept) else { return false }
            state.version += 1
            return true
        }
    }
}
