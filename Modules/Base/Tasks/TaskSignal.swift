/// A signal for one waiting task of an actor. The wait ends when the signal is sent or when the waiting task is
/// cancelled; the actor's state tells which of the two happened.
package struct TaskSignal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    package init() { (stream, continuation) = AsyncStream.makeStream() }

    /// Ends the current wait, or a later one at once. Idempotent.
    package func send() { continuation.finish() }

    /// Waits for the signal. Only one task may call this.
    package func wait() async { for await _ in stream {} }
}
