internal import SallyportBase
public import SallyportCore

/// A stream of bytes to and from one server: relayed, direct or refused as the administrator's policy says.
///
/// One task may read while another writes; each direction is used by one task at a time. It ends with the withdrawal's
/// code when authorization is withdrawn, with `refusedByPolicy` when a new policy refuses it, and with
/// `sessionInvalidated` with its session. Releasing it resets it, unless ``shutdown(within:)`` was called.
///
/// At most 256 KiB are read ahead of the app, and at most as much waits to be sent. The stream's state belongs to its
/// event loop; a read that finds bytes, and a write that the socket accepts at once, run on the caller's thread without
/// waking another.
public final class ByteStream: Sendable {
    /// The server at the other end, whatever relay or proxy is on the way.
    public let endpoint: Endpoint
    /// The route, and the rule that decided it; nil if no policy was asked.
    public let decision: RouteDecision?
    package let channel: any ByteChannel
    /// The period in which the stream was opened: nothing is read after its end. Nil if access cannot be withdrawn.
    package var period: AccessPeriod? { settings.period }
    private let settings: Settings

    /// Passed by the code that opens a stream.
    package struct Settings: Sendable {
        /// Begins TLS on the open stream.
        package typealias StartTLS = @Sendable (TLSStart) async throws(LoadError) -> Void

        package var decision: RouteDecision?
        /// The checks of the server's certificate that were switched off.
        package var disabledChecks: Set<VerificationCheck> = []
        package var closeTimeout = Duration.seconds(5)
        package var recorder: LoadRecorder?
        package var period: AccessPeriod?
        package var startTLS: StartTLS = { _ throws(LoadError) in
            throw LoadError(.unsupported, at: .serverTLS, "This stream cannot begin TLS later.")
        }

        package init(decision: RouteDecision? = nil) { self.decision = decision }
    }

    package init(over channel: any ByteChannel, _ settings: Settings = Settings()) {
        self.channel = channel
        self.settings = settings
        endpoint = channel.endpoint
        decision = settings.decision
    }

    // MARK: Facts

    /// How the server is reached, and what was negotiated with it. Only ``startTLS(_:)`` changes it while the stream
    /// lives.
    public var facts: StreamFacts {
        var facts = channel.facts
        facts.decision = decision
        facts.tls?.disabledChecks = settings.disabledChecks
        return facts
    }

    /// The record of the stream so far; complete once it has ended. Nil if `onRecord` of the socket's or the session's
    /// configuration is not set.
    public var record: LoadRecord? { settings.recorder?.record }

    /// Whether the connection to the server uses TLS.
    public var isSecure: Bool { channel.facts.tls != nil }

    /// The number of the app's bytes that were given to the connection, without TLS's own overhead.
    public var sentBytes: Int { channel.sentBytes }
    /// The number of bytes that came from the server, whether the app has read them or not.
    public var receivedBytes: Int { channel.receivedBytes }

    // MARK: Reading

    /// What the server sends, chunk by chunk, until it has ended its side. Reading slowly slows the server down. Can be
    /// iterated once; leaving the loop early leaves the stream open.
    public var bytes: Bytes { Bytes(stream: self) }

    /// The next bytes: all that are ready, but at most `limit` of them; nil once the server has ended its side.
    ///
    /// The stream has ended only if the server says so: with close_notify under TLS, else with FIN. Cancelling the task
    /// resets the stream.
    ///
    /// - Parameter limit: more than zero.
    /// - Throws: `connectionLost` if the connection ended without the server saying so; `idleTimeout`,
    ///   `resourceTimeout`; `withdrawn`, `refusedByPolicy`, `sessionInvalidated`; `cancelled`; `invalidRequest` while
    ///   another task reads.
    public func read(upTo limit: Int = .max) async throws(LoadError) -> [UInt8]? {
        guard limit > 0 else { throw LoadError(.invalidRequest, "At least one byte is read.") }
        let bytes = try await channel.read(upTo: limit)
        try settings.period?.check()
        return bytes
    }

    // MARK: Writing

    /// Sends bytes. Returns when there is room for more.
    ///
    /// If the task is cancelled while it waits for room, the bytes already taken are still sent.
    ///
    /// - Throws: as ``read(upTo:)`` does; `invalidRequest` after our side was ended, and while another task waits for
    ///   room.
    public func write(_ bytes: [UInt8]) async throws(LoadError) { try await channel.write(bytes) }

    /// Sends text as UTF-8.
    ///
    /// - Throws: as ``write(_:)-([UInt8])`` does.
    public func write(_ text: String) async throws(LoadError) { try await write(Array(text.utf8)) }

    // MARK: TLS

    /// Begins TLS on a stream that was opened without it (STARTTLS, RFC 3207, RFC 4642 and similar), through the relay
    /// or direct. The trust, pins, certificates, versions and delegate of the session or the socket that opened the
    /// stream apply. Call it once the server's consent has been read.
    ///
    /// Bytes written before are sent first, without TLS. Writes and reads that begin during the handshake wait for it.
    /// While the delegate is asked, the handshake stays open, since the connection cannot be made again for its answer.
    /// For the same reason there is no second attempt with lower TLS versions: lower versions that the settings add are
    /// offered only if neither TLS 1.2 nor 1.3 is allowed.
    ///
    /// Any failure after the handshake has begun, the end of ``TLSStart/timeout`` and cancelling the task reset the
    /// stream.
    ///
    /// - Throws: `protocolViolation`, with ``UnreadBytes`` as the underlying error, if the server's side has sent bytes
    ///   that were not read: an attacker on the network path may have inserted them, so that they would be taken for
    ///   bytes protected by TLS (CVE-2011-0411); the stream is reset. `invalidRequest` if TLS is in use or being begun
    ///   already, if our side was ended, and while another task reads or writes; the stream stays as it was. Otherwise
    ///   as for a connection with TLS from the start: `serverNotTrusted`, `clientCertificateRefused`,
    ///   `noCommonTLSVersion`, `tlsFailed`, `connectionLost`, `idleTimeout` if the handshake, with what is sent before
    ///   it, took longer than ``TLSStart/timeout``, `refusedByPolicy`, `withdrawn`, `cancelled`.
    public func startTLS(_ start: TLSStart = TLSStart()) async throws(LoadError) { try await settings.startTLS(start) }

    // MARK: Ends

    /// Ends our side once everything is sent, with close_notify under TLS, else with FIN; reading goes on. Through a
    /// relay the server sees the same. Idempotent.
    public func closeWrite() { channel.closeWrite() }

    /// Ends our side once everything is sent, and waits until the server has ended its own. Bytes that still arrive are
    /// dropped. Idempotent.
    ///
    /// - Parameter limit: how long to wait for the server; if nil, `closeTimeout` of a socket's settings, else 5 s.
    public func shutdown(within limit: Duration? = nil) async {
        finish(within: limit)
        while await readsOn() {}
    }

    private func readsOn() async -> Bool {
        do throws(LoadError) {
            return try await read() != nil
        } catch {
            return false
        }
    }

    /// Ends our side, and the stream once the server has ended its side or `limit` has passed. Reading goes on
    /// meanwhile.
    package func finish(within limit: Duration? = nil) { channel.shutdown(within: limit ?? settings.closeTimeout) }

    /// Ends both directions at once and drops what waits to be sent. To the server, what was sent looks complete.
    /// Idempotent.
    public func close() { channel.close() }

    /// Ends both directions at once with a reset, so that the server does not take what it has received for complete.
    /// Idempotent.
    public func reset() { channel.reset() }
}

extension ByteStream {
    /// What a server sends, in chunks that are never empty.
    public struct Bytes: AsyncSequence, Sendable {
        public typealias Element = [UInt8]
        public typealias Failure = LoadError

        fileprivate let stream: ByteStream

        public func makeAsyncIterator() -> Iterator { Iterator(stream: stream) }

        /// Reads the stream: each call of `next()` is a ``ByteStream/read(upTo:)``, with its errors.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let stream: ByteStream

            public mutating func next() async throws(LoadError) -> [UInt8]? { try await stream.read() }

            public mutating func next(isolation actor: isolated (any Actor)?) async throws(LoadError) -> [UInt8]? {
                try await stream.read()
            }
        }
    }
}

@available(*, unavailable)
extension ByteStream.Bytes.Iterator: Sendable {}
