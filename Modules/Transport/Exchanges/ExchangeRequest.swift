package import HTTPTypes
package import SallyportBase
package import SallyportCore
internal import SallyportEventLoop
package import SallyportLoading

/// One request to one server.
///
/// `Host`, `Content-Length`, `Transfer-Encoding`, `Connection`, `Expect` and similar fields belong to the transport: it
/// creates them from URL and body, and drops fields with these names. `Expect: 100-continue` has the effect of
/// ``continueTimeout``.
package struct ExchangeRequest: Sendable {
    /// `http` or `https`.
    package var url: RequestURL
    package var method: HTTPRequest.Method
    package var headerFields: HTTPFields
    package var body: RequestBody?
    /// The longest time without a byte in either direction.
    package var idleTimeout: Duration = .seconds(60)
    /// The deadline of the whole exchange, including the body of the answer.
    package var deadline: ContinuousClock.Instant? {
        get {
            guard due != .never else { return nil }
            let rest = due.elapsed(since: .now)
            return .now + rest
        }
        set {
            let rest = newValue.map { ContinuousClock.now.duration(to: $0) }
            due = rest.map { LoopInstant.now.advanced(by: $0) } ?? .never
        }
    }
    /// The deadline by the loop's clock. An instant of `ContinuousClock` has no fixed layout, and neither would the
    /// request that has one: each copy of it would look up its type.
    private(set) var due = LoopInstant.never
    /// The longest time from the start to a connection over which the request can be sent, for each relay tried.
    package var connectTimeout: Duration = .seconds(10)
    /// The longest header block of the answer; the relay's answer to CONNECT has the same limit.
    package var headerLimit: ByteCount = .kibibytes(64)
    package var protocols: HTTPVersions = .automatic
    /// The reader takes a body of this length at once; nil if it may be slow.
    ///
    /// libcurl 7.88 reads nothing more from an HTTP/2 connection while one of its streams is not read. So such an
    /// exchange shares a connection and is never paused below the limit, and others have a connection to themselves.
    package var collectsUpTo: ByteCount?
    /// The most connections that its path may have to its origin, at least one; if all are in use, the exchange waits,
    /// first come, first served, until its deadline. Counted on each event loop. HTTP/2 has one connection for 100
    /// concurrent exchanges that collect, or for this number if it is greater.
    package var connectionsPerOrigin = 6
    /// Called once on the loop when the exchange is over, before its body's reader learns of it. If nil, no report is
    /// made, which costs nothing.
    package var reporter: (@Sendable (ExchangeReport) -> Void)?

    /// Suspends the exchange and follows its progress.
    package var control: (any TransferControl)?
    /// The proxy credential, if ``ProxyAccess/user`` is set.
    package var proxyAuthorization: Redacted<String>?
    /// How long the body waits for `100 Continue`; nil sends it at once.
    package var continueTimeout: Duration?
    /// The required connection of an owner, by its ``ConnectionFacts/number``. An exchange that would have to open
    /// another one ends with ``LoadError/Code/connectionLost`` before anything is sent; if nothing was sent that cannot
    /// be sent again, ``BoundConnectionLost`` is its underlying error.
    package var requiredConnection: UInt64?
    /// Whether the caller goes on through another cluster of relays if none of this path's serves. A relay that is there no
    /// longer then ends the attempt with ``LoadError/Code/relayUnreachable``, if what was asked for may be repeated.
    package var hasOtherCluster = false

    package init(
        _ method: HTTPRequest.Method = .get, _ url: RequestURL, headerFields: HTTPFields = [:],
        body: RequestBody? = nil
    ) {
        self.url = url
        self.method = method
        self.headerFields = headerFields
        self.body = body
    }
}

/// Which versions of HTTP an exchange may use.
package enum HTTPVersions: Sendable, Hashable {
    /// HTTP/2 if the server chooses it by ALPN, otherwise HTTP/1.1; always HTTP/1.1 without TLS.
    case automatic
    case http1Only
}

/// The head of an answer, and its body as it comes.
package struct ExchangeResponse: Sendable {
    package var head: HTTPResponse
    /// Reading slowly slows the server down; leaving the loop early ends the exchange.
    package var body: ResponseBody
    /// One. As an array, so that the facts are not copied at each step of their way to the caller.
    package let hops: [HopFacts]

    package init(head: HTTPResponse, body: ResponseBody, facts: HopFacts) {
        self.head = head
        self.body = body
        hops = [facts]
    }

    package var facts: HopFacts { hops[0] }
}

extension ExchangeRequest {
    /// The request as it is sent again after 417, and as it is sent without content (RFC 9110 §10.1.1).
    var withoutExpectation: ExchangeRequest {
        var request = self
        request.continueTimeout = nil
        request.headerFields[.expect] = nil
        return request
    }

    /// The request for a connection that one owner has to itself.
    var alone: ExchangeRequest {
        var request = self
        request.protocols = .http1Only
        request.connectionsPerOrigin = 1
        return request
    }

    func checkMethod() throws(LoadError) {
        // Methods are compared as texts, which is quick if they are equal.
        guard method != .get, method == .connect else { return }
        throw LoadError(.invalidRequest, at: .routing, "A tunnel is opened by other means than a request.")
    }

    /// Whether the request says that it waits for `100 Continue`. One whose body is known to be empty has lost its
    /// expectation when its exchange was made.
    var asksToContinue: Bool {
        body != nil && (continueTimeout != nil || headerFields[.expect]?.lowercased() == "100-continue")
    }

    /// Whether it may be sent twice (RFC 9110 §9.2.2).
    var isIdempotent: Bool {
        switch method {
        case .get, .head, .options, .trace, .put, .delete: true
        default: false
        }
    }
}
