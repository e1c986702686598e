package import NIOCore
package import SallyportCore

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
