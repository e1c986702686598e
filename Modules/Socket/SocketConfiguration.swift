public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// The settings of a socket.
public struct SocketConfiguration: Sendable {
    /// Who may issue the server's certificate.
    public var trust = ServerTrust.system
    /// What is shown to a server that asks for a certificate; nothing where nil.
    public var clientIdentity: ClientIdentity?
    /// What the server is offered in ALPN (RFC 7301), the best first; each of 1 to 255 bytes, 1,024 together.
    public var applicationProtocols: [String] = []
    /// The lowest version of TLS; where nil, 1.2 and what `ControlTLSVersions` adds.
    public var minimumTLSVersion: TLSVersion?
    public var maximumTLSVersion: TLSVersion?

    /// The longest time until the connection stands, for each relay tried, and for lower versions of TLS anew.
    public var connectTimeout = Duration.seconds(10)
    /// The longest time in which nothing comes and nothing goes; without limit where nil. A relay has one of its own,
    /// 10 minutes by default.
    public var idleTimeout: Duration?
    /// The longest time that the connection lives, its making included; without limit where nil.
    public var lifetime: Duration?
    /// How long the server has to end its side after ours was ended.
    public var closeTimeout = Duration.seconds(5)

    /// Called with the record of each connection when it is over, and of each that could not be made, on any thread; it
    /// must not block.
    public var onRecord: (@Sendable (LoadRecord) -> Void)?

    /// How many bytes wait in a documented socket's inbound buffer before no more are read.
    public var inboundLimit = ByteCount.kilobytes(256)
    /// How many bytes a documented socket's outbound buffer holds, and how many more of them wait to be sent.
    public var outboundLimit = ByteCount.megabytes(1)

    /// The keys of which the server's chain must have one; any where nil.
    private(set) var pins: Set<PublicKeyPin>?
    /// What is not verified.
    var disabled: Set<VerificationCheck> = []

    public init() {}

    /// Takes only chains of certificates that have one of these keys, besides being issued as ``trust`` says.
    ///
    /// - Parameter backups: keys that the server can change to: without one, a lost key locks the app out.
    /// - Throws: `invalidRequest` where there is no backup.
    public mutating func pin(to key: PublicKeyPin, backups: Set<PublicKeyPin>) throws(LoadError) {
        guard !backups.subtracting([key]).isEmpty else {
            throw LoadError(.invalidRequest, "A pin needs a backup, another key.")
        }
        pins = backups.union([key])
    }
}
