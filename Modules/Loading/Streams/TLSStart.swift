/// What is said of TLS that begins on an open stream, besides what its session or socket says of all TLS.
public struct TLSStart: Sendable, Hashable {
    /// What the server is offered in ALPN (RFC 7301), the best first, each of 1 to 255 bytes, 1,024 together; where nil, what
    /// the socket's settings name.
    public var applicationProtocols: [String]?
    /// The longest time of the handshake, without the time in which the app answers its questions.
    public var timeout: Duration

    public init(applicationProtocols: [String]? = nil, timeout: Duration = .seconds(10)) {
        self.applicationProtocols = applicationProtocols
        self.timeout = timeout
    }
}

/// Bytes that came before the handshake and were not read: the underlying error where ``ByteStream/startTLS(_:)`` is refused
/// for them.
public struct UnreadBytes: Error, Sendable, Hashable {
    /// How many of them were seen; more may have come.
    public let count: Int

    package init(count: Int) { self.count = count }
}
