internal import Foundation
internal import FoundationNetworking
internal import SallyportCore
internal import SallyportLoading
internal import SallyportURLLoading

/// What is to be loaded, and how it is delivered: all that a load needs of its native task.
struct LoadOrder: Sendable {
    let request: LoadRequest
    /// Kept while the load runs, though the native session is gone.
    let binding: Binding
    /// Where a delegate takes the body in parts; nil where it is delivered at once.
    let delegateQueue: OperationQueue?
    /// For errors.
    let url: URL?

    /// - Throws: `invalidRequest` where HTTP cannot carry the request; `unsupportedScheme` for an answer out of a cache.
    init(_ native: URLRequest, _ task: NativeTask, _ binding: Binding) throws(LoadError) {
        self.binding = binding
        url = native.url
        delegateQueue = task.delegateQueue
        request = try NativeRequest(native, task.session.configuration).loadRequest(sending: task)
    }
}
