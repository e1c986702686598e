internal import SallyportBase
internal import SallyportCore
internal import Synchronization

/// A connection with a server that one owner has to itself, for schemes that authenticate a whole connection.
///
/// HTTP/1.1, at most one at a time, and never shared: loads with another value, or without one, use other connections.
/// It is made when it is first used, and closed when it idles, at the latest with this value; an exchange in progress
/// goes on until its end.
package final class BoundConnection: Sendable {
    /// Unique within the process.
    package let number: UInt64
    private let closing = SetOnce<@Sendable () -> Void>()
    private static let numbers = Atomic<UInt64>(0)

    package init() { number = Self.numbers.add(1, ordering: .relaxed).newValue }

    deinit { close() }

    /// Sets how the connection is closed; called by the code that makes it. Only the first call counts.
    package func closes(by close: @escaping @Sendable () -> Void) { closing.set(close) }

    /// Closes it; one that is used again is made anew.
    package func close() { closing.value?() }
}

/// How an exchange uses a connection of its owner's.
package struct ConnectionUse: Sendable {
    package let connection: BoundConnection
    /// The one to go over, as ``ConnectionFacts/number`` names it: an exchange that would have to make another fails
    /// instead, before anything is sent. Nil if any of the owner's will do.
    package var required: UInt64?
    /// Whether the response belongs to this connection's authentication and may not be given to another load.
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
