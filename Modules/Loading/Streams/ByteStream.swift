internal import SallyportBase
public import SallyportCore

/// A stream of bytes to one server and back: relayed, direct or refused as the administrator's policy says.
///
/// One task may read while another writes; each direction is used by one task at a time. It ends with the withdrawal's code
/// when authorization is withdrawn, with `refusedByPolicy` when a new policy refuses it, and with `sessionInvalidated` with
/// its session. Releasing it resets it, unless ``shutdown(within:)`` was called.
///
/// At most 256 KiB are read ahead of the app, and as much waits to be sent. Its state belongs to the event loop that carries
/// it; a read that finds bytes, and a write that the socket takes at once, run on the caller's thread and wake no other.
public final class ByteStream: Sendable {
    public let endpoint: Endpoint
    /// The route, and the rule that decided; nil where no policy was asked.
    public let decision: RouteDecision?
    package let channel: any ByteChannel
    private let settings: Settings

    /// What whoever opens a stream says of it.
    package struct Settings: Sendable {
        /// Begins TLS on the stream that stands.
        package typealias StartTLS = @Sendable (TLSStart) async throws(LoadError) -> Void

        package var decision: RouteDecision?
        /// Checks of the server's certificate that were switched off.
        package var disabledChecks: Set<VerificationCheck> = []
        package var closeTimeout = Duration.seconds(5)
        package var recorder: LoadRecorder?
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

    /// How the server is reached, and what was agreed with it: the same for as long as the stream lives, but for
    /// ``startTLS(_:)``.
    public var facts: StreamFacts {
        var facts = channel.facts
        facts.decision = decision
        facts.tls?.disabledChecks = settings.disabledChecks
        return facts
    }

    /// How the stream has gone so far: whole once it is over. Nil if `onRecord` of the socket's or the session's
    /// configuration is not set.
    public var record: LoadRecord? { settings.recorder?.record }

    /// Whether TLS is spoken with the server.
    public var isSecure: Bool { channel.facts.tls != nil }

    /// How many of the app's bytes were given to the connection; those of TLS are not counted.
    public var sentOctets: Int { channel.sentOctets }
    /// How many bytes came from the server, read by the app or not.
    public var receivedOctets: Int { channel.receivedOctets }

    // MARK: Reading

    /// What the server sends, chunk by chunk, until it has ended its side. Reading slowly slows it down. Iterated once;
    /// leaving the loop early leaves the stream open.
    public var bytes: Bytes { Bytes(stream: self) }

    /// The next bytes, at most `limit` of them, as many as lie ready; nil once the server has ended its side.
    ///
    /// An end is one only where the server says so: close_notify where there is TLS, else FIN. Cancelling the task resets
    /// the stream.
    ///
    /// - Parameter limit: more than zero.
    /// - Throws: `connectionLost` where the connection ended without the server's saying so; `idleTimeout`,
    ///   `resourceTimeout`; `withdrawn`, `refusedByPolicy`, `sessionInvalidated`; `cancelled`; `invalidRequest` while another
    ///   task reads.
    public func read(upTo limit: Int = .max) async throws(LoadError) -> [UInt8]? {
        guard limit > 0 else { throw LoadError(.invalidRequest, "At least one byte is read.") }
        return try await channel.read(upTo: limit)
    }

    // MARK: Writing

    /// Sends bytes; returns when there is room for more.
    ///
    /// Cancelling the task while it waits for room leaves what was taken to be sent.
    ///
    /// - Throws: as ``read(upTo:)``; `invalidRequest` once our side was ended, and while another task waits for room.
    public func write(_ bytes: [UInt8]) async throws(LoadError) { try await channel.write(bytes) }

    /// Sends text as UTF-8.
    ///
    /// - Throws: as ``write(_:)-([UInt8])``.
    public func write(_ text: String) async throws(LoadError) { try await write(Array(text.utf8)) }

    // MARK: TLS

    /// Begins TLS on a stream that is open without it (STARTTLS, RFC 3207, RFC 4642 and their kin), through the relay or
    /// direct, with the trust, pins, certificates and versions of the session or the socket that opened the stream, and its
    /// delegate's answers. Call it once the server's consent was read.
    ///
    /// What was written before is sent first, without TLS. Writes and reads that begin meanwhile wait for the handshake. A
    /// question to the delegate holds the handshake open: a connection could not be made anew. For the same reason lower
    /// versions of TLS are no second try: those that the settings add are offered only where they leave no other.
    ///
    /// Whatever fails from the handshake on, and cancelling the task, resets the stream.
    ///
    /// - Throws: `protocolViolation`, with ``UnreadBytes`` below it, where bytes came that were not read: whoever stands
    ///   between may have put them there, to be taken for what TLS protects (CVE-2011-0411); the stream is reset.
    ///   `invalidRequest` where TLS is spoken already or is being begun, where our side was ended, and while another task
    ///   reads or writes; the stream stays as it was. Otherwise as for a connection with TLS from the start:
    ///   `serverNotTrusted`, `clientCertificateRefused`, `noCommonTLSVersion`, `tlsFailed`, `connectionLost`, `idleTimeout`
    ///   where the handshake took longer than ``TLSStart/timeout``, `refusedByPolicy`, `withdrawn`, `cancelled`.
    public func startTLS(_ start: TLSStart = TLSStart()) async throws(LoadError) { try await settings.startTLS(start) }

    // MARK: Ends

    /// Ends our side once all is sent, and goes on reading: close_notify where there is TLS, else FIN. Through a relay the
    /// server sees the same. Idempotent.
    public func closeWrite() { channel.closeWrite() }

    /// Ends our side once all is sent, and waits until the server has ended its own. What still comes is dropped. Idempotent.
    ///
    /// - Parameter limit: how long the server has; where nil, `closeTimeout` of a socket's settings, else 5 s.
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

    /// Ends our side, and the stream with the server's, or after the time for it. Reading goes on meanwhile.
    package func finish(within limit: Duration? = nil) { channel.shutdown(within: limit ?? settings.closeTimeout) }

    /// Ends both directions at once. What waits to be sent is not; what was sent looks whole to the server. Idempotent.
    public func close() { channel.close() }

    /// Ends both directions at once with a reset, so that the server does not take what it has for the whole. Idempotent.
    public func reset() { channel.reset() }
}

extension ByteStream {
    /// What a server sends, in chunks that are never empty.
    public struct Bytes: AsyncSequence, Sendable {
        public typealias Element = [UInt8]
        public typealias Failure = LoadError

        fileprivate let stream: ByteStream

        public func makeAsyncIterator() -> Iterator { Iterator(stream: stream) }

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
