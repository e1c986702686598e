/// Told what happens to a socket: the four documented callbacks. All are required.
///
/// They come one at a time and in their order, from a task of the socket's on no particular thread; the socket goes on when
/// a callback has returned.
public protocol SocketDelegate: AnyObject, Sendable {
    /// The connection stands: the socket is ``SocketState/open``, and takes `write()`.
    func onOpen(_ socket: SecureSocket) async

    /// Bytes came and lie in ``SecureSocket/readStream``. What is left there stays; the next callback comes with the next
    /// bytes, and none where the buffer is full.
    func onRead(_ socket: SecureSocket) async

    /// Closed by either end: nothing more is written, and nothing more comes. The socket is ``SocketState/disconnected``
    /// and may connect again.
    func onClose(_ socket: SecureSocket) async

    /// Something went wrong. Where the connection did not come about the socket stays ``SocketState/connecting`` and is
    /// finished; where it broke, ``onClose(_:)`` follows.
    ///
    /// - Parameter error: with the documented ``SocketError/number`` and the precise ``SocketError/cause``.
    func onErr(_ error: SocketError, _ socket: SecureSocket) async
}
