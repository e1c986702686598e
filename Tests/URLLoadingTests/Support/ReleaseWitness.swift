import Dispatch
import Foundation

/// Asks for something once its last reference is released, and tells whether that was answered. A thread of its own
/// asks: it waits in vain if the lock behind the answer is held during the release. The release waits for that thread,
/// so it must not happen on one of the cooperative pool.
final class ReleaseWitness: Sendable {
    private let tell: AsyncStream<Bool>.Continuation
    private let ask: @Sendable () -> Void

    init(_ tell: AsyncStream<Bool>.Continuation, asks ask: @escaping @Sendable () -> Void) {
        (self.tell, self.ask) = (tell, ask)
    }

    deinit {
        let isAnswered = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [ask] in
            ask()
            isAnswered.signal()
        }
        tell.yield(isAnswered.wait(timeout: .now() + .seconds(30)) == .success)
        tell.finish()
    }
}
