internal import SallyportBase
internal import SallyportCore
internal import Synchronization

/// A connection with a server that one owner has to itself, for schemes that prove once for a connection who uses it.
///
/// HTTP/1.1, at most one at a time, and never shared: whoever loads with another value, or without one, has another
/// connection. It is made when it is first used, closed when it idles, and at the latest with this value; an exchange on
/// its way goes on until its end.
package final class BoundConnection: Sendable {
    /// Unique within the process.
    package let number: UInt64
    private let closing = SetOnce<@Sendable () -> Void>()
    private static let numbers = Atomic<UInt64>(0)

    package init() { number = Self.numbers.add(1, ordering: .relaxed).newValue }

    deinit { close() }

    /// Called by whoever makes the connection: how it is closed. The first time counts.
    package func closes(by close: @escaping @Sendable () -> Void) { closing.set(close) }

    /// Closes it; one that is used again is made anew.
    package func close() { closing.value?() }
}

/// How an exchange uses a connection of its owner's.
package struct ConnectionUse: Sendable {
    package let connection: BoundConnection
    /// The one to go over, as ``ConnectionFacts/number`` names it: an exchange that would have to make another fails
    /// instead, before anything is sent. Nil where any of the owner's will do.
    package var required: UInt64?
    /// The answer is one to this connection, and nobody else's.
    package var isLeg: Bool

    package init(_ connection: BoundConnection, required: UInt64? = nil, isLeg: Bool = false) {
        self.connection = connection
        self.required = required
        self.isLeg = isLeg
    }
}

/// The connection that an exchange required is gone, and the exchange can be made over another as if it had not been made:
/// what stands under ``LoadError/Code/connectionLost``.
package struct BoundConnectionLost: Error, CustomStringConvertible {
    package init() {}
    package var description: String { "The connection is gone." }
}
