/// Receives the four callbacks of a socket. All are required.
///
/// Callbacks come one at a time and in order, from a task of the socket on no particular thread; the socket continues
/// when a callback has returned.
public protocol SocketDelegate: AnyObject, Sendable {
    /// The connection is established: the socket is ``SocketState/open`` and accepts `write()`.
    func onOpen(_ socket: SecureSocket) async

    /// Bytes have arrived in ``SecureSocket/readStream``. Bytes that are not consumed stay there. The next callback
    /// comes with the next bytes; while the buffer is full, there is none.
    func onRead(_ socket: SecureSocket) async

    /// Either side has closed the connection: nothing more is sent or received. The socket is
    /// ``SocketState/disconnected`` and may connect again.
    func onClose(_ socket: SecureSocket) async

    /// An error occurred. If the connection could not be established, the socket stays ``SocketState/connecting`` and
    /// is finished; if it broke, ``onClose(_:)`` follows.
    ///
    /// - Parameters:
    ///   - error: with ``SocketError/number`` and the precise ``SocketError/cause``.
    ///   - socket: the socket whose delegate is called.
    func onErr(_ error: SocketError, _ socket: SecureSocket) async
}
