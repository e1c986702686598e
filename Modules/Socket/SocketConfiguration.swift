public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// The settings of a socket.
public struct SocketConfiguration: Sendable {
    /// The authorities that may issue the server's certificate.
    public var trust = ServerTrust.system
    /// The certificate for servers that request one; nil for none.
    public var clientIdentity: ClientIdentity?
    /// The protocols offered in ALPN (RFC 7301), in order of preference; each name has 1 to 255 bytes, all together
    /// 1,024.
    public var applicationProtocols: [String] = []
    /// The lowest TLS version; if nil, 1.2 or what `ControlTLSVersions` adds.
    public var minimumTLSVersion: TLSVersion?
    /// The highest TLS version; nil for the highest there is. On a relayed connection the administrator's blocks and
    /// minimum apply besides: if no version is left, connecting fails with the cause `noCommonTLSVersion`.
    public var maximumTLSVersion: TLSVersion?

    /// The longest time to connect. It starts again for each relay that is tried, and for lower TLS versions.
    public var connectTimeout = Duration.seconds(10)
    /// The longest time without any byte in either direction; nil for no limit. A relay has its own limit, 10 minutes
    /// by default.
    public var idleTimeout: Duration?
    /// The longest life of the connection, including the time to connect; nil for no limit.
    public var lifetime: Duration?
    /// How long the server may take to end its side after ours was ended.
    public var closeTimeout = Duration.seconds(5)

    /// Called with the record of each connection when it has ended or could not be established, on any thread; must not
    /// block.
    public var onRecord: (@Sendable (LoadRecord) -> Void)?

    /// The number of unread bytes in a ``SecureSocket``'s inbound buffer above which no more are read.
    public var inboundLimit = ByteCount.kibibytes(256)
    /// The capacity of a ``SecureSocket``'s outbound buffer, and also the most bytes that may wait to be sent.
    public var outboundLimit = ByteCount.mebibytes(1)

    /// The public keys of which the server's chain must contain one; nil for no restriction.
    private(set) var pins: Set<PublicKeyPin>?
    /// The checks that are disabled.
    var disabled: Set<VerificationCheck> = []

    /// The default settings, as each property states them.
    public init() {}

    /// Accepts only certificate chains that contain one of these keys, in addition to the check by ``trust``.
    ///
    /// - Parameters:
    ///   - key: the key that the server has now, or that of an authority above it.
    ///   - backups: keys to which the server can change; without them, a lost key would lock the app out.
    /// - Throws: `invalidRequest` if there is no backup key.
    public mutating func pin(to key: PublicKeyPin, backups: Set<PublicKeyPin>) throws(LoadError) {
        pins = try key.with(backups: backups)
    }
}
