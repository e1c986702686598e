public import HTTPTypes
internal import SallyportBase
internal import SallyportCore
public import SallyportLoading

/// A load under the app's control: it can be suspended, observed, prioritised and cancelled.
///
/// ```swift
/// let task = try session.downloadTask(for: .get("https://reports.corp.example/archive"), to: "/srv/archive")
/// task.resume()
/// for await progress in task.received { print(progress.fraction ?? 0) }
/// let head = try await task.value
/// ```
///
/// A task is created suspended and begins with the first ``resume()``, or when its ``value`` is awaited. A running task
/// continues even without a reference to it; a suspended one without references ends as by ``cancel()``. Its body has a
/// connection to itself, also with HTTP/2. All functions may be called from anywhere, at any time, more than once.
public final class LoadTask<Value: Sendable>: Sendable {
    /// The request as it was given.
    public let request: LoadRequest
    private let work: LoadTaskWork<Value>

    init(_ request: LoadRequest, _ work: LoadTaskWork<Value>) {
        self.request = request
        self.work = work
    }

    deinit { work.decide { $0.abandoned() } }

    /// What the task is doing now: ``LoadTaskState/suspended`` at first, and ``LoadTaskState/completed`` for good once
    /// it has ended. Between the two it changes with ``resume()`` and ``suspend()``, and by itself between `waiting`
    /// and `running`; read ``value`` or ``received`` to follow it.
    public var state: LoadTaskState { work.control.phase }

    /// Begins or continues the load.
    public func resume() { work.decide { $0.resumed() } }

    /// Pauses the load: nothing more is read from its connection, which slows the server down, and nothing is sent. Up
    /// to 768 KiB that were read ahead still arrive. The idle time-out is paused; the resource time-out is not.
    ///
    /// A task that is suspended while it waits for a connection loses its place; one that is connecting sends its
    /// request, but reads no answer. A suspended task keeps its connection, which counts as one of its origin's.
    public func suspend() { work.decide { $0.suspended() } }

    /// Ends the load with `cancelled`, at any point.
    public func cancel() { work.decide { $0.cancelled() } }

    /// See ``LoadTaskOptions/priority``. A change affects a waiting task too.
    public var priority: Double {
        get { work.control.priority }
        set { work.decide { $0.prioritised(newValue) } }
    }

    /// The progress of the answer's body, in bytes as the app receives them. Each call makes a new sequence.
    public var received: ProgressUpdates { work.control.receivedProgress.updates() }

    /// How much of the request's body was passed to the connection; decreases if the body is sent again.
    public var sent: ProgressUpdates { work.control.sentProgress.updates() }

    /// The head of the answer once it has arrived; nil before, and if the load failed before.
    public var response: HTTPResponse? { work.control.head }

    /// The result. Begins a task that was never resumed.
    ///
    /// Any number of callers may wait. Cancelling one of them ends its wait with `cancelled`, but not the load: use
    /// ``cancel()`` for that.
    ///
    /// - Throws: `LoadError`, the same for all callers.
    public var value: Value {
        get async throws(LoadError) {
            work.decide { $0.beganByValue() }
            return try await work.outcome.result()
        }
    }
}
