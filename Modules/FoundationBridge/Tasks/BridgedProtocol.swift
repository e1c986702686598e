internal import Foundation
internal import FoundationNetworking
internal import SallyportCore

/// The protocol class with which FoundationNetworking loads the tasks of one binding.
///
/// It takes every request: one that it cannot load fails here, since FoundationNetworking would load any other
/// directly.
///
/// FoundationNetworking makes the object and calls it on the task's work queue only; `load` is touched nowhere else.
final class BridgedProtocol<Number: BindingNumber>: URLProtocol {
    private var load: BridgedLoad?

    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override class func requestIsCacheEquivalent(_ one: URLRequest, to other: URLRequest) -> Bool { false }

    /// Starts the load, or continues a suspended one: a task loads once.
    override func startLoading() {
        if let load { return load.resume() }
        guard let task, let client else { return }
        do throws(LoadError) {
            let binding = try Bindings.binding(Number.value)
            let native = try NativeTask(task)
            let order = try LoadOrder(request, native, binding)
            load = BridgedLoad(order, TaskDelivery(self, client, on: native.queue))
        } catch {
            client.urlProtocol(self, didFailWithError: URLError(error, loading: request.url))
        }
    }

    /// Ends the load if the task was cancelled, and pauses it if the task was suspended.
    ///
    /// FoundationNetworking changes the state before it enqueues this call: a task that runs was resumed since, and the
    /// call to start follows. A load that was stopped is kept, so that no later call to start begins another one.
    override func stopLoading() {
        switch task?.state {
        case .running: break
        case .suspended: load?.pause()
        default: load?.stop()
        }
    }
}
