/// The settings of TLS that begins on an open stream, besides those of the session or the socket.
public struct TLSStart: Sendable, Hashable {
    /// The protocols offered in ALPN (RFC 7301), the preferred one first; each name of 1 to 255 bytes, together at most
    /// 1,024. If nil, those of the socket's settings.
    public var applicationProtocols: [String]?
    /// The longest time that it may take to send what was written before and to make the handshake, not counting the
    /// time in which the app answers questions.
    public var timeout: Duration

    /// - Parameters:
    ///   - applicationProtocols: as in ``applicationProtocols``; by default those of the socket's settings.
    ///   - timeout: as in ``timeout``; 10 s by default.
    public init(applicationProtocols: [String]? = nil, timeout: Duration = .seconds(10)) {
        self.applicationProtocols = applicationProtocols
        self.timeout = timeout
    }
}

/// Bytes that came before the handshake and were not read: the underlying error with which ``ByteStream/startTLS(_:)``
/// refuses them.
public struct UnreadBytes: Error, Sendable, Hashable {
    /// The number of bytes that were seen; more may have come.
    public let count: Int

    package init(count: Int) { self.count = count }
}
