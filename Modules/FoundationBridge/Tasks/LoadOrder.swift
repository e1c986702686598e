internal import Foundation
internal import FoundationNetworking
internal import SallyportCore
internal import SallyportLoading
internal import SallyportURLLoading

/// What is loaded and how it is delivered: everything that a load needs from its native task.
struct LoadOrder: Sendable {
    let request: LoadRequest
    /// Retained while the load runs, even if the native session is gone.
    let binding: Binding
    /// The queue of a delegate that takes the body in parts; nil if the body is delivered at once.
    let delegateQueue: OperationQueue?
    /// The URL that errors name.
    let url: URL?

    /// - Throws: `invalidRequest` if HTTP cannot carry the request; `unsupportedScheme` for an answer from a cache.
    init(_ native: URLRequest, _ task: NativeTask, _ binding: Binding) throws(LoadError) {
        self.binding = binding
        url = native.url
        delegateQueue = task.delegateQueue
        request = try NativeRequest(native, task.session.configuration).loadRequest(sending: task)
    }
}
