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

/// A check of TLS with the server that an app may switch off, which takes away what TLS is for.
public enum VerificationCheck: Sendable, Hashable, CaseIterable {
    /// That the certificate is the host's (RFC 2818 §3.1, RFC 9525). Who issued it is still checked.
    case host
    /// That an authority which is trusted has issued the certificate; implies ``host``.
    case peer
}

/// What happens to a socket.
enum SocketEvent: String, Sendable, CaseIterable {
    case opened, failedToConnect, received, failed, closed
}

/// The four documented callbacks.
enum SocketCallback: String, Sendable, CaseIterable {
    case onOpen, onRead, onErr, onClose
}
