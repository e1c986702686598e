package import SallyportCore

/// What carries the bytes of a ``ByteStream``: a connection of the transport's, or a test's stand-in for one. Nothing of it
/// asks a policy.
package protocol ByteChannel: AnyObject, Sendable {
    var endpoint: Endpoint { get }
    /// Without decision and switched-off checks, which whoever opened it knows.
    var facts: StreamFacts { get }
    /// How many of the app's bytes were given to TLS, or to the socket.
    var sentOctets: Int { get }
    /// How many of the server's bytes came out of TLS, or of the socket.
    var receivedOctets: Int { get }
    /// How many bytes wait to be sent, but for some 64 KiB that are on their way.
    var unsentOctets: Int { get }
    /// Whether a task waits for bytes.
    var isBeingRead: Bool { get }
    /// Why the connection broke; nil while it has not, and where it came to its end.
    var failure: LoadError? { get }

    /// - Parameter limit: more than zero.
    func read(upTo limit: Int) async throws(LoadError) -> [UInt8]?
    func write(_ bytes: [UInt8]) async throws(LoadError)
    /// Sends without waiting for room; what could not be sent fails the next read.
    func send(_ bytes: [UInt8])
    func closeWrite()
    /// Ends our direction once all is sent, and the connection once the server has ended its side too; after `limit` in any
    /// case.
    func shutdown(within limit: Duration)
    func close()
    func reset()
    /// Calls `tell`, on any thread and once, when the connection is over; at once where it is.
    func whenOver(_ tell: @escaping @Sendable () -> Void)
}
