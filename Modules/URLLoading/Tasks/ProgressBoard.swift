internal import SallyportBase

/// The progress of one direction of a task. A slow reader skips to the newest value. The sequence begins with the
/// current value, if there is one, and ends with the task.
public struct ProgressUpdates: AsyncSequence, Sendable {
    public typealias Element = TransferProgress
    public typealias Failure = Never
    let stream: AsyncStream<TransferProgress>

    public func makeAsyncIterator() -> AsyncStream<TransferProgress>.Iterator { stream.makeAsyncIterator() }
}

/// The current value of one direction, and the tasks that observe it.
typealias ProgressBoard = Board<TransferProgress>

extension ProgressBoard {
    /// Adds received or sent bytes.
    func add(_ bytes: Int64, of total: Int64?) {
        change { $0 = TransferProgress(completed: ($0?.completed ?? 0) + bytes, total: total) }
    }

    func updates() -> ProgressUpdates { ProgressUpdates(stream: values()) }
}
