import Dispatch

/// Calls that may block for long, as reading a terminal: one after the other, on a thread that no task needs.
final class BlockingCalls: Sendable {
    private let queue: DispatchQueue

    init(_ name: String) { queue = DispatchQueue(label: name) }

    /// Nil where the task is cancelled before the call returns; what it returns is lost then.
    func call<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
        let (values, told) = AsyncStream.makeStream(of: Value.self)
        enqueue {
            told.yield(body())
            told.finish()
        }
        return await values.first { _ in true }
    }

    /// Queues a call behind the earlier ones, and returns at once.
    func enqueue(_ body: @escaping @Sendable () -> Void) {
        let workplace = Workplace.current
        queue.async { Workplace.$current.withValue(workplace, operation: body) }
    }

    /// As ``call(_:)``, for a call that may fail.
    ///
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled before it returns.
    func result<Value: Sendable>(of body: @escaping @Sendable () throws -> Value) async throws -> Value {
        guard let result = await call({ Result(catching: body) }) else { throw CancellationError() }
        return try result.get()
    }
}
