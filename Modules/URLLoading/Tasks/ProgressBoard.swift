internal import SallyportBase

/// How far one direction of a task has come, newest value first: a reader that is slow misses what was in between, and
/// holds no memory. Begins with the present value, if there is one, and ends with the task.
public struct ProgressUpdates: AsyncSequence, Sendable {
    public typealias Element = TransferProgress
    public typealias Failure = Never
    let stream: AsyncStream<TransferProgress>

    public func makeAsyncIterator() -> AsyncStream<TransferProgress>.Iterator { stream.makeAsyncIterator() }
}

/// The present value of one direction, and the tasks that follow it.
typealias ProgressBoard = Board<TransferProgress>

extension ProgressBoard {
    /// Adds what came to what is there.
    func add(_ octets: Int64, of total: Int64?) {
        change { $0 = TransferProgress(completed: ($0?.completed ?? 0) + octets, total: total) }
    }

    func updates() -> ProgressUpdates { ProgressUpdates(stream: values()) }
}
