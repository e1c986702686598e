/// The five states of a socket.
public enum SocketState: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Created; no connection was attempted.
    case prepared
    /// A connection is being established. A socket whose connection failed stays in this state and does nothing more.
    case connecting
    /// Connected: bytes are exchanged in both directions.
    case open
    /// The app has ended its side; bytes may still arrive.
    case disconnecting
    /// Closed by either side; may connect again.
    case disconnected

    public var description: String { rawValue }
}

/// The calls that some states forbid: those of ``SecureSocket`` with the same names.
public enum SocketCall: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    case connect, disableHostVerification, disablePeerVerification, write, disconnect
    /// Prepare a second attempt.
    case retrying

    public var description: String { rawValue }
}

/// The events that can happen to a socket.
enum SocketEvent: String, Sendable, CaseIterable {
    case opened, failedToConnect, received, failed, closed
}

/// The four callbacks.
enum SocketCallback: String, Sendable, CaseIterable {
    case onOpen, onRead, onErr, onClose
}
