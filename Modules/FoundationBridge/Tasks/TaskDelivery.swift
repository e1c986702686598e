internal import Dispatch
internal import Foundation
internal import FoundationNetworking
internal import SallyportCore
internal import SallyportLoading

/// Hands the parts of an answer to FoundationNetworking, on the task's work queue.
///
/// Its client may be called there only: it reads the session's table of tasks without a lock, and traps when it is
/// called for a task that has ended. So nothing is delivered after ``close()`` or after the end.
final class TaskDelivery: @unchecked Sendable {
    // SAFETY: `target`, `isPaused` and `waiting` are touched on `queue` alone, which is serial. `close`, `pause` and
    // `resume` are called there, and `deliver` goes there. The protocol object, which is not Sendable, is only passed
    // on to the client, there too.
    private let queue: DispatchQueue
    private var target: (any URLProtocolClient, URLProtocol)?
    private var isPaused = false
    private var waiting: CheckedContinuation<Outcome, Never>?

    enum Event: Sendable {
        case head(HTTPURLResponse)
        case body(Data)
        case end
        case failure(URLError)
    }

    enum Outcome: Sendable {
        case delivered
        /// The task was suspended, and goes on. Nothing was delivered: the event may not be fit for it any more.
        case held
        /// The task has ended, and nothing was delivered.
        case over
        /// The period was over when the event's turn came: nothing was delivered.
        case withdrawn(LoadError)
    }

    init(_ loader: URLProtocol, _ client: any URLProtocolClient, on queue: DispatchQueue) {
        target = (client, loader)
        self.queue = queue
    }

    /// Delivers one part; parts are delivered one after the other. In a suspended task, waits until it goes on.
    ///
    /// - Parameter period: nothing is delivered after its end, although the part may have waited for its turn on the
    ///   queue since; nil for what may be told at any time.
    func deliver(_ event: Event, in period: AccessPeriod?) async -> Outcome {
        await withCheckedContinuation { continuation in
            queue.async { self.take(event, in: period, continuation) }
        }
    }

    private func take(
        _ event: Event, in period: AccessPeriod?, _ continuation: CheckedContinuation<Outcome, Never>
    ) {
        dispatchPrecondition(condition: .onQueue(queue))
        if target != nil, isPaused {
            waiting = continuation
        } else {
            continuation.resume(returning: handOver(event, in: period))
        }
    }

    private func handOver(_ event: Event, in period: AccessPeriod?) -> Outcome {
        guard let (client, loader) = target else { return .over }
        do throws(LoadError) {
            try period?.check()
        } catch {
            return .withdrawn(error)
        }
        switch event {
        case .head(let response): client.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
        case .body(let data): client.urlProtocol(loader, didLoad: data)
        case .end:
            target = nil
            client.urlProtocolDidFinishLoading(loader)
        case .failure(let error):
            target = nil
            client.urlProtocol(loader, didFailWithError: error)
        }
        return .delivered
    }

    // MARK: On the queue

    /// Whether a part waits until the task goes on.
    var isHolding: Bool {
        dispatchPrecondition(condition: .onQueue(queue))
        return waiting != nil
    }

    func pause() {
        dispatchPrecondition(condition: .onQueue(queue))
        isPaused = true
    }

    func resume() {
        dispatchPrecondition(condition: .onQueue(queue))
        isPaused = false
        letGo()
    }

    /// The task has ended; FoundationNetworking reports that itself.
    func close() {
        dispatchPrecondition(condition: .onQueue(queue))
        target = nil
        letGo()
    }

    private func letGo() { waiting.take()?.resume(returning: .held) }
}
