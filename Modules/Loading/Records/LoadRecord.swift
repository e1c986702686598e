package import SallyportCore

/// How one load, or one byte stream, went: every phase of every hop, numbers of bytes, connections, and decisions. One
/// JSON object whose fields have the names of the properties (Docs/Observability.md).
///
/// Times are in seconds; instants are counted from the load's start. Contains no values of header fields, no body,
/// credential, query or fragment. A field without a value is omitted.
public struct LoadRecord: Sendable, Hashable, Codable {
    /// Unique within the process; also on each log line of the load.
    public var id: UInt64
    /// `CONNECT` for a stream.
    public var method: String
    /// Without user, query and fragment; `tls://HOST:PORT` or `tcp://HOST:PORT` for a stream.
    public var url: String
    /// When it began, in UTC (ISO 8601).
    public var started: String
    /// The time until the body was read to its end, or the load ended otherwise; for a running load, the time so far.
    public var duration: Double
    /// When the app got the head of the answer, or the open stream.
    public var head: Double?
    /// The status of the answer that the app got.
    public var status: Int?
    /// `loading`, then `open` for a stream; at the end `complete`, the code of the error, or `discarded`, if the app
    /// did not read the body to its end or ended the stream before both sides had.
    public var outcome: String
    /// Why the load failed; nil while it runs, and if it did not fail.
    public var error: Failure?
    /// How many decoded bytes of the body the app has read; for a stream, how many were received.
    public var bodyBytes = 0
    /// One for each exchange, or for each attempt to open a stream, in order.
    public var hops: [Hop] = []
    /// In order.
    public var decisions: [Decision] = []

    /// Why a load or a hop failed.
    public struct Failure: Sendable, Hashable, Codable {
        /// The name of a `LoadError.Code`.
        public var code: String
        /// The text of a `LoadError.Step`.
        public var step: String?
    }

    /// One request to one server, and its answer.
    public struct Hop: Sendable, Hashable, Codable {
        /// The HTTP method that was sent; `CONNECT` for an attempt to open a stream.
        public var method: String
        /// Without user, query and fragment, as ``LoadRecord/url``.
        public var url: String
        /// When the exchange began.
        public var start: Double
        /// When the last byte of the answer arrived, or the exchange ended otherwise; nil for a running exchange.
        public var end: Double?
        /// The status of the answer; nil before it came.
        public var status: Int?
        /// Why the exchange failed; nil if it did not.
        public var error: Failure?
        /// `direct`, `relay` or `relay:CLUSTER`; nil if no policy was asked.
        public var route: String?
        /// The rule of the policy that decided, as in `explain`.
        public var rule: String?
        /// Empty until the exchange has ended.
        public var phases = Phases()
        /// Empty until the exchange has ended.
        public var connection = Connection()
        /// Zero until the exchange has ended.
        public var sent = Bytes()
        /// Zero until the exchange has ended.
        public var received = Bytes()
    }

    /// The duration of each phase of a hop; nil for a phase that did not happen: a reused connection has neither
    /// look-up nor handshakes.
    public struct Phases: Sendable, Hashable, Codable {
        /// Waiting for one of the origin's connections.
        public var queue: Double?
        /// Looking up the name of the server, the relay or the proxy.
        public var name: Double?
        /// The TCP handshake with the server, the relay or the proxy.
        public var connect: Double?
        /// TLS with the relay or the proxy.
        public var relayTLS: Double?
        /// From there until TLS with the server begins: CONNECT, or SOCKS.
        public var relay: Double?
        /// TLS with the server; without a relay it includes what cannot be measured separately above.
        public var tls: Double?
        /// Sending the request's body.
        public var request: Double?
        /// From the request to the first byte of the answer.
        public var wait: Double?
        /// From there to the last byte.
        public var response: Double?

        /// The phases that happened, in order, with the names of their fields.
        package var named: [(name: String, time: Double)] {
            let all: [(String, Double?)] = [
                ("queue", queue), ("name", name), ("connect", connect), ("relayTLS", relayTLS), ("relay", relay),
                ("tls", tls), ("request", request), ("wait", wait), ("response", response),
            ]
            return all.compactMap { name, time in time.map { (name, $0) } }
        }
    }

    /// The connection of a hop. Without one, only ``proxy`` may be set.
    public struct Connection: Sendable, Hashable, Codable {
        /// Whether an earlier exchange opened it.
        public var isReused = false
        /// `HTTP/1.1`, `HTTP/2`.
        public var http: String?
        /// `TLSv1.3`, as OpenSSL names it; nil without TLS to the server.
        public var tls: String?
        /// The suite's name (RFC 8446 §B.4).
        public var cipher: String?
        /// The server's address; with a relay or a proxy, theirs.
        public var remoteAddress: String?
        /// The port of ``remoteAddress``.
        public var remotePort: Int?
        /// The address of this machine's end, without its port.
        public var localAddress: String?
        /// HOST:PORT.
        public var relay: String?
        /// Kind and address, without the credential.
        public var proxy: String?
        /// The `Proxy-Status` of the relay or the proxy (RFC 9209).
        public var proxyStatus: String?
    }

    /// Transferred bytes in one direction, with heads as HTTP/1.1 writes them; CONNECT counts as a head.
    public struct Bytes: Sendable, Hashable, Codable {
        /// Of all heads: the request's or the answers', and those of CONNECT.
        public var head = 0
        /// As sent: with its content coding, without transfer coding.
        public var body = 0

        package init() {}
    }

    /// A decision during the load.
    public struct Decision: Sendable, Hashable, Codable {
        /// What was decided, and what ``LoadRecord/Decision/value`` and ``LoadRecord/Decision/reason`` then hold.
        public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
            /// Relay, direct, or a proxy; `value` is the route, `reason` the rule.
            case route
            /// A name without a domain was completed; `value` is the whole name, `reason` says by what.
            case name
            /// A challenge was answered; `value` is the scheme, `reason` the sender of the challenge.
            case authentication
            /// A redirect was followed; `value` is the target, `reason` the status.
            case redirect
            /// A header field was not sent; `value` is its name, `reason` the server to which it would have gone.
            case withheld
            /// A request was sent again; `value` is the code of the failure.
            case retry
            /// `value` is what was done with cookies, `reason` the jar's name if it has one.
            case cookies
            /// `value` is the cache's result.
            case cache
        }

        /// What was decided.
        public var kind: Kind
        /// The result, in the form that ``kind`` describes.
        public var value: String
        /// Why, in the form that ``kind`` describes; nil if there is nothing to say.
        public var reason: String?
        /// When, in seconds from the load's start.
        public var at: Double
    }
}

extension LoadRecord {
    static func url(_ endpoint: Endpoint, isSecure: Bool) -> String { "\(isSecure ? "tls" : "tcp")://\(endpoint)" }
}

extension LoadRecord.Failure {
    package init(_ error: LoadError) { self.init(code: "\(error.code)", step: error.step.map { "\($0)" }) }
}
