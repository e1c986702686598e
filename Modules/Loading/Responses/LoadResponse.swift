public import HTTPTypes
package import SallyportBase
public import SallyportCore

/// An answer whose body is read as a stream.
public typealias LoadResponse = LoadAnswer<ResponseBody>

/// An answer to a load: its head, its body, and facts about the load. The body is a ``ResponseBody`` that streams, or
/// all of its bytes.
public struct LoadAnswer<Body: Sendable>: Sendable {
    /// The status and the header fields. For an answer from the cache, the stored ones; ``fieldsSentNow`` has those
    /// that the server sent for this load.
    public var head: HTTPResponse
    /// The URL that answered, after redirects.
    public var url: RequestURL
    /// A ``ResponseBody``, which can be read once, or the bytes.
    public var body: Body
    /// How the answer was obtained: route, cache and hops.
    public var facts: LoadFacts
    package var recorder: LoadRecorder?

    /// An answer that a stage makes itself.
    public init(head: HTTPResponse, url: RequestURL, body: Body, facts: LoadFacts = LoadFacts()) {
        self.head = head
        self.url = url
        self.body = body
        self.facts = facts
    }

    package init(head: HTTPResponse, url: RequestURL, body: Body, facts: LoadFacts, recorder: LoadRecorder?) {
        self.init(head: head, url: url, body: body, facts: facts)
        self.recorder = recorder
    }

    /// The record of the load so far; complete once the body was read to its end. Nil unless the load is recorded; see
    /// ``LoadOptions/isRecorded``.
    public var record: LoadRecord? { recorder?.record }
}

extension LoadAnswer where Body == ResponseBody {
    /// An answer with a streamed body. Generic code would look up the answer's type for each load.
    public init(head: HTTPResponse, url: RequestURL, body: ResponseBody, facts: LoadFacts = LoadFacts()) {
        self.head = head
        self.url = url
        self.body = body
        self.facts = facts
    }

    /// Reads the whole body.
    ///
    /// - Throws: `responseTooLarge` for a body of more than `limit`; otherwise the body's error.
    package func collected(upTo limit: ByteCount) async throws(LoadError) -> LoadAnswer<[UInt8]> {
        let bytes = try await body.collect(upTo: limit)
        var answer = self
        return answer.taken(with: bytes)
    }

    /// The answer with all bytes of its body. The facts are moved out of this one, since the compiler copies all of a
    /// parameter that is consumed.
    package mutating func taken(with bytes: [UInt8]) -> LoadAnswer<[UInt8]> {
        var moved = LoadFacts()
        swap(&moved, &facts)
        return LoadAnswer<[UInt8]>(head: head, url: url, body: bytes, facts: moved, recorder: recorder)
    }

    /// The header fields that the server sent in response to this very request. For a response from the cache, these
    /// are the fields of the exchange that revalidated it, if there was one. Cookies are taken from these alone.
    public var fieldsSentNow: HTTPFields { facts.sentNow ?? head.headerFields }

    /// Discards the body of an answer that another request follows. A short body is read, so that its connection can be
    /// used for that request; a longer one is not.
    package func drain() async {
        let length = head.headerFields[.contentLength].flatMap { Int($0) } ?? .max
        guard length <= 16 << 10 else { return body.discard() }
        _ = try? await body.collect(upTo: .kibibytes(16))
    }
}

/// Facts about how an answer was obtained.
public struct LoadFacts: Sendable {
    /// The route, and the rule that decided it. For a response from the cache, the route by which it would be loaded
    /// now. Nil if no policy was asked.
    public var decision: RouteDecision?
    /// What the cache did; nil if no cache was asked.
    public var cache: CacheResult?
    /// One entry for each hop, in order.
    public var hops: [HopFacts] = []
    /// Whether the app itself accepted the server's chain, or presented a certificate that the session's settings do
    /// not name. Then neither the response, nor what it says about an earlier one, may be used for another load.
    public var isForThisLoadOnly = false
    /// Whether a challenge was answered on the way to this answer. Cookies may have come with the challenge, and the
    /// credential may be sent unasked from now on, so that the server may answer an earlier request differently.
    package var followsChallenge = false
    /// Whether the body ends in an error unless it is the one that a proof of the server's covers. A part of it is not
    /// covered, and is not kept.
    package var isProvedAtEnd = false
    /// The fields that the server sent now, if the head has stored ones; see ``LoadResponse/fieldsSentNow``.
    package var sentNow: HTTPFields?

    /// No facts.
    public init() {}
}

/// Facts about one exchange with one server.
public struct HopFacts: Sendable, Hashable {
    /// The URL that was requested in this exchange.
    public var url: RequestURL
    /// When the exchange's phases ended.
    public var timing = ExchangeTiming()
    /// The connection that the exchange used; empty if there was none.
    public var connection: ConnectionFacts {
        get { shared.facts }
        set { shared = SharedConnectionFacts(newValue) }
    }
    /// How often the request was sent again because its connection broke before the first byte of an answer, or because
    /// the server said that it had not processed it (RFC 9110 §9.2.2, RFC 9113 §8.7).
    public var retries = 0
    /// The fields of each `103 Early Hints` that came before the head (RFC 8297); 16 at most.
    public var earlyHints: [HTTPFields] = []
    private var shared: SharedConnectionFacts

    /// Facts of an exchange without a connection, with every time zero.
    public init(url: RequestURL) { self.init(url: url, over: .none) }

    package init(url: RequestURL, over connection: SharedConnectionFacts) {
        self.url = url
        shared = connection
    }
}

/// The facts of a connection, for all exchanges over it: copying them for each would cost as much as reading a head.
package final class SharedConnectionFacts: Sendable, Hashable {
    package static let none = SharedConnectionFacts(ConnectionFacts())

    package let facts: ConnectionFacts

    package init(_ facts: ConnectionFacts) { self.facts = facts }

    package static func == (one: SharedConnectionFacts, other: SharedConnectionFacts) -> Bool {
        one === other || one.facts == other.facts
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(facts) }
}

/// When each phase of an exchange ended, counted from its start. Zero for a phase that did not happen, such as the
/// look-up of a reused connection.
public struct ExchangeTiming: Sendable, Hashable {
    /// When the exchange no longer waited for one of the origin's connections.
    public var queue: Duration = .zero
    /// When the name of the server, the relay or the proxy was looked up.
    public var nameLookup: Duration = .zero
    /// When the TCP connection to the server, the relay or the proxy was open.
    public var connect: Duration = .zero
    /// TLS with the relay or the proxy.
    public var relaySecured: Duration = .zero
    /// When the relay or the proxy has answered, and TLS with the server begins.
    public var relayAnswered: Duration = .zero
    /// When the TLS handshake with the server has ended; zero without TLS.
    public var secured: Duration = .zero
    /// When the request was about to be sent.
    public var requestSent: Duration = .zero
    /// When the first byte of the answer arrived.
    public var firstByte: Duration = .zero

    /// Every phase zero.
    public init() {}
}

/// The connection that an exchange used.
public struct ConnectionFacts: Sendable, Hashable {
    /// Whether an earlier exchange opened it.
    public var isReused = false
    /// `HTTP/1.1`, `HTTP/2`.
    public var httpVersion = ""
    /// The IP address that was connected to: the server's, or that of the relay or the proxy on the way; empty if there
    /// was no connection.
    public var remoteAddress = ""
    /// The port of ``remoteAddress``; 0 if there was no connection.
    public var remotePort: UInt16 = 0
    /// The IP address of this machine's end; empty if there was no connection.
    public var localAddress = ""
    /// The relay that the connection went through.
    public var relay: Endpoint?
    /// The proxy that the connection went through, as in `Proxy.description`. ``remoteAddress`` is then the proxy's.
    public var proxy: String?
    /// `Proxy-Status` of the relay's answer to CONNECT.
    public var proxyStatus: String?
    /// The number of a connection that belongs to one owner (``BoundConnection``), unique in the process; nil for
    /// shared ones.
    package var number: UInt64?
    /// The binding to the connection with a server that asks for authentication (401); nil for other responses, and
    /// without TLS.
    package var channelBinding: ChannelBinding?

    /// No connection.
    public init() {}
}
