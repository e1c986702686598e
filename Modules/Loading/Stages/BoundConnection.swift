internal import SallyportBase
internal import SallyportCore
internal import Synchronization

/// A connection to a server that belongs to one owner, for schemes that authenticate a whole connection.
///
/// HTTP/1.1, at most one connection at a time, and never shared: loads with another owner, or without one, use other
/// connections. It is made when it is first used, and closed when it idles, or when this object is released; an
/// exchange in progress is finished first.
package final class BoundConnection: Sendable {
    /// Unique within the process.
    package let number: UInt64
    private let closing = SetOnce<@Sendable () -> Void>()
    private static let numbers = Atomic<UInt64>(0)

    package init() { number = Self.numbers.add(1, ordering: .relaxed).newValue }

    deinit { close() }

    /// Sets the function that closes the connection; called by the code that makes it. Only the first call has an
    /// effect.
    package func closes(by close: @escaping @Sendable () -> Void) { closing.set(close) }

    /// Closes the connection; the next use makes a new one.
    package func close() { closing.value?() }
}

/// How an exchange uses a connection of its owner.
package struct ConnectionUse: Sendable {
    package let connection: BoundConnection
    /// The connection that must be used, by ``ConnectionFacts/number``: an exchange that would have to make another one
    /// fails before anything is sent. Nil if any of the owner's connections will do.
    package var required: UInt64?
    /// Whether the response belongs to this connection's authentication and may not be given to another load.
    package var isLeg: Bool

    package init(_ connection: BoundConnection, required: UInt64? = nil, isLeg: Bool = false) {
        self.connection = connection
        self.required = required
        self.isLeg = isLeg
    }
}

/// The required connection is gone, but the exchange can be repeated over another one because nothing of it has taken
/// effect: the underlying error of ``LoadError/Code/connectionLost``.
package struct BoundConnectionLost: Error, CustomStringConvertible {
    package init() {}
    package var description: String { "The connection is gone." }
}
