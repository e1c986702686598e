/// All who follow what somebody tells, each by a stream of their own.
package final class Followers<Element: Sendable>: Sendable {
    package typealias Continuation = AsyncStream<Element>.Continuation

    private struct State {
        var isOver = false
        var next = 0
        var continuations: [Int: Continuation] = [:]
    }

    private let state = Lock(State())

    package init() {}

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
