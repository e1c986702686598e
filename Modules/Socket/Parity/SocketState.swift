/// The five documented states of a socket.
public enum SocketState: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Made; nothing has been connected.
    case prepared
    /// A connection is made. A socket whose connection failed stays here, and does nothing more.
    case connecting
    /// Bytes go both ways.
    case open
    /// The app has ended its side; bytes may still come.
    case disconnecting
    /// Closed by either end; may connect again.
    case disconnected

    public var description: String { rawValue }
}

/// What an app calls on a socket, and a state may forbid.
public enum SocketCall: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    case connect, disableHostVerification, disablePeerVerification, write, disconnect
    /// Make the documented second attempt.
    case retrying

    public var description: String { rawValue }
}

/// What happens to a socket.
enum SocketEvent: String, Sendable, CaseIterable {
    case opened, failedToConnect, received, failed, closed
}

/// The four documented callbacks.
enum SocketCallback: String, Sendable, CaseIterable {
    case onOpen, onRead, onErr, onClose
}
