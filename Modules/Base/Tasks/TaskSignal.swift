/// One wait in an actor: it ends when it is told to, or when the task that waits is cancelled. Which of the two it was, the
/// actor's state says.
package struct TaskSignal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    package init() { (stream, continuation) = AsyncStream.makeStream() }

    /// Ends the wait, also one that begins later. Idempotent.
    package func send() { continuation.finish() }

    /// By one task.
    package func wait() async { for await _ in stream {} }
}
