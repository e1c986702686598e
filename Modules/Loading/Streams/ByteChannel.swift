package import SallyportCore

/// Transfers the bytes of a ``ByteStream``: a connection of the transport, or a test's substitute. It never asks a
/// policy.
package protocol ByteChannel: AnyObject, Sendable {
    var endpoint: Endpoint { get }
    /// The facts without the decision and the switched-off checks, which the code that opened the channel knows.
    var facts: StreamFacts { get }
    /// The number of the app's bytes that were given to TLS, or to the socket.
    var sentBytes: Int { get }
    /// The number of the server's bytes that came out of TLS, or of the socket.
    var receivedBytes: Int { get }
    /// The number of the server's bytes that reads have returned.
    var readBytes: Int { get }
    /// The number of bytes that wait to be sent, apart from some 64 KiB that the event loop has already taken to send.
    var unsentBytes: Int { get }
    /// Whether a task is waiting for bytes.
    var isBeingRead: Bool { get }
    /// Why the connection broke; nil while it has not broken, and after a regular end.
    var failure: LoadError? { get }

    /// - Parameter limit: more than zero.
    func read(upTo limit: Int) async throws(LoadError) -> [UInt8]?
    func write(_ bytes: [UInt8]) async throws(LoadError)
    /// Sends without waiting for room. If sending fails, the next read throws the failure.
    func send(_ bytes: [UInt8])
    func closeWrite()
    /// Ends our direction once everything is sent, and the connection once the server has ended its side too, or after
    /// `limit`.
    func shutdown(within limit: Duration)
    func close()
    func reset()
    /// Calls `tell` once, on any thread, when the connection is over; at once if it already is.
    func whenOver(_ tell: @escaping @Sendable () -> Void)
}
