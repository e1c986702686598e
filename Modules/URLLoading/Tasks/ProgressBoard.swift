internal import SallyportCore

/// How far one direction of a task has come, newest value first: a reader that is slow misses what was in between, and
/// holds no memory. Begins with the present value, if there is one, and ends with the task.
public struct ProgressUpdates: AsyncSequence, Sendable {
    public typealias Element = TransferProgress
    public typealias Failure = Never
    let stream: AsyncStream<TransferProgress>

    public func makeAsyncIterator() -> AsyncStream<TransferProgress>.Iterator { stream.makeAsyncIterator() }
}

/// The present value of one direction, and all who follow it.
final class ProgressBoard: Sendable {
    private struct State {
        var progress: TransferProgress?
        var isOver = false
        var next = 0
        var followers: [Int: AsyncStream<TransferProgress>.Continuation] = [:]
    }

    private let state = Lock(State())

    var progress: TransferProgress? { state.withLock { $0.progress } }

    func set(_ progress: TransferProgress) {
        let followers = state.withLock { state in
            state.progress = progress
            return state.followers.isEmpty ? [] : Array(state.followers.values)
        }
        for follower in followers { follower.yield(progress) }
    }

    /// Adds what came to what is there.
    func add(_ octets: Int64, of total: Int64?) {
        let before = progress
        set(TransferProgress(completed: (before?.completed ?? 0) + octets, total: total))
    }

    func finish() {
        let followers = state.withLock { state in
            state.isOver = true
            defer { state.followers = [:] }
            return Array(state.followers.values)
        }
        for follower in followers { follower.finish() }
    }

    func updates() -> ProgressUpdates {
        let (stream, follower) = AsyncStream.makeStream(
            of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            guard !state.isOver else { return nil }
            state.next += 1
            state.followers[state.next] = follower
            return state.next
        }
        if let number {
            follower.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.followers.removeValue(forKey: number) }
            }
        }
        // A change in between must not be overtaken by what was before it.
        var told: TransferProgress?
        while let present = progress, present != told {
            follower.yield(present)
            told = present
        }
        if number == nil { follower.finish() }
        return ProgressUpdates(stream: stream)
    }
}
