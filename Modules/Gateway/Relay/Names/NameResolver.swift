package import NIOCore
package import SallyportCore
internal import Synchronization

/// Resolves names for the relay. Nothing is cached: each CONNECT resolves once.
package protocol NameResolver: Sendable {
    /// All addresses of a name, in the order in which they are to be tried. Fails with ``NameResolutionError``.
    ///
    /// - Parameters:
    ///   - name: A-labels in lower case, without a final dot; never an address.
    ///   - eventLoop: The loop of the answer.
    func addresses(of name: String, on eventLoop: any EventLoop) -> EventLoopFuture<[IPAddress]>

    /// The same for a caller that may give up.
    ///
    /// - Parameter isWanted: whether the answer is still waited for; asked on any thread. If it is not, a look-up that
    ///   has not begun may be left out.
    func addresses(
        of name: String, on eventLoop: any EventLoop, while isWanted: @escaping @Sendable () -> Bool
    ) -> EventLoopFuture<[IPAddress]>
}

extension NameResolver {
    package func addresses(
        of name: String, on eventLoop: any EventLoop, while isWanted: @escaping @Sendable () -> Bool
    ) -> EventLoopFuture<[IPAddress]> {
        addresses(of: name, on: eventLoop)
    }

    /// The same for a caller that waits until a deadline at most.
    ///
    /// - Parameter left: completes when the caller has given up before; nil for one that does not.
    func addresses(
        of name: String, on eventLoop: any EventLoop, until deadline: NIODeadline,
        orUntil left: EventLoopFuture<Void>? = nil
    ) -> EventLoopFuture<[IPAddress]> {
        let promise = eventLoop.makePromise(of: [IPAddress].self)
        let wish = Wish()
        let timer = eventLoop.scheduleTask(deadline: deadline) {
            wish.isOver.store(true, ordering: .relaxed)
            promise.fail(NameResolutionError.timedOut)
        }
        left?.whenComplete { _ in wish.isOver.store(true, ordering: .relaxed) }
        let isWanted = { @Sendable in !wish.isOver.load(ordering: .relaxed) }
        addresses(of: name, on: eventLoop, while: isWanted).whenComplete { result in
            timer.cancel()
            promise.completeWith(result)
        }
        return promise.futureResult
    }
}

/// The wish for the addresses of a name: over once the caller has left or its time has passed.
private final class Wish: Sendable {
    let isOver = Atomic(false)
}

/// Why a name has no addresses.
package enum NameResolutionError: Error, Sendable, Hashable {
    /// There was no answer in time.
    case timedOut
    /// There is no such name, or it has no address.
    case notFound
    /// The resolver failed or refused.
    case failed
}
