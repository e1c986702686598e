public import HTTPTypes
internal import SallyportBase
internal import SallyportCore
public import SallyportLoading

/// A load that the app holds in its hand: it can be suspended, followed, prioritised and cancelled.
///
/// ```swift
/// let task = session.downloadTask(for: .get("https://reports.corp.example/archive"), to: "/srv/archive")
/// task.resume()
/// for await progress in task.received { print(progress.fraction ?? 0) }
/// let head = try await task.value
/// ```
///
/// A task is created suspended and begins with the first ``resume()``, or when its ``value`` is awaited. A running task
/// goes on even if the app keeps no reference to it; a suspended one without references ends as by ``cancel()``. Its
/// body has a connection to itself, also with HTTP/2. All functions may be called from anywhere, at any time, more than
/// once.
public final class LoadTask<Value: Sendable>: Sendable {
    /// As it was given.
    public let request: LoadRequest
    private let work: LoadTaskWork<Value>

    init(_ request: LoadRequest, _ work: LoadTaskWork<Value>) {
        self.request = request
        self.work = work
    }

    deinit { work.decide { $0.abandoned() } }

    public var state: LoadTaskState { work.control.phase }

    /// Begins the load, or goes on with it.
    public func resume() { work.decide { $0.resumed() } }

    /// Pauses the load: nothing more is read from its connection, so that the server is slowed down, and nothing sent. At
    /// most what was read ahead (192 KiB) still comes. The idle time-out stands still; the resource time-out runs on.
    ///
    /// A task that is suspended while it waits for a connection loses its place; one whose connection is being made sends
    /// its request, and reads no answer. A suspended task keeps its connection, which counts as one of its origin's.
    public func suspend() { work.decide { $0.suspended() } }

    /// Ends the load with `cancelled`, at any point.
    public func cancel() { work.decide { $0.cancelled() } }

    /// See ``LoadTaskOptions/priority``. A change counts for a task that waits too.
    public var priority: Double {
        get { work.control.priority }
        set { work.decide { $0.prioritised(newValue) } }
    }

    /// What comes of the answer's body, in bytes as the app gets them. Each call makes a sequence of its own.
    public var received: ProgressUpdates { work.control.receivedProgress.updates() }

    /// What was handed to the connection of the request's body; less than before where it is sent again.
    public var sent: ProgressUpdates { work.control.sentProgress.updates() }

    /// The head of the answer, once it is there; nil before, and where the load failed before.
    public var response: HTTPResponse? { work.control.head }

    /// The result. Begins a task that was never resumed.
    ///
    /// Any number of callers may wait. Cancelling one of them ends its waiting with `cancelled`, not the load: that is
    /// ``cancel()``.
    ///
    /// - Throws: `LoadError`, the same for all.
    public var value: Value {
        get async throws(LoadError) {
            work.decide { $0.beganByValue() }
            return try await work.outcome.result()
        }
    }
}
