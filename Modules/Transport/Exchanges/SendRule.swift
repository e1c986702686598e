/// Decides whether a request is sent over a connection, and whether it is sent again. A value: the exchange asks it
/// each time libcurl is about to send.
///
/// libcurl sends a request again, up to five times, if a reused connection ends before the first byte of a response, or
/// if the server refused the stream. It does so for every method, unless this rule forbids it.
struct SendRule {
    enum Verdict: Equatable {
        case send
        /// The request was sent, and must not be sent twice.
        case notTwice
        /// The request needs another connection. `isUnsent`: none of it was sent, or it may be sent again.
        case connectionIsGone(isUnsent: Bool)
    }

    let isIdempotent: Bool
    /// The only connection over which the request may be sent; nil for any.
    let requiredConnection: UInt64?
    /// How often libcurl was about to send the request.
    private(set) var count = 0

    init(isIdempotent: Bool, requiredConnection: UInt64?) {
        self.isIdempotent = isIdempotent
        self.requiredConnection = requiredConnection
    }

    var isBegun: Bool { count > 0 }
    var retries: Int { max(0, count - 1) }

    /// libcurl is about to open a new connection for the request.
    ///
    /// - Parameters:
    ///   - hasSentNothing: whether no byte of the request was sent. Evaluated only if needed, since it costs a call.
    ///   - canStartAnew: whether the body can be sent from its start.
    func willConnect(hasSentNothing: @autoclosure () -> Bool, canStartAnew: Bool) -> Verdict {
        guard requiredConnection != nil else { return .send }
        return gone(hasSentNothing(), canStartAnew)
    }

    /// libcurl is about to send the request.
    ///
    /// - Parameter connection: the number of the connection to be used; nil if connections have no numbers.
    mutating func willSend(
        over connection: UInt64?, hasSentNothing: @autoclosure () -> Bool, canStartAnew: Bool
    ) -> Verdict {
        guard requiredConnection == nil || requiredConnection == connection else {
            return gone(hasSentNothing(), canStartAnew)
        }
        count += 1
        guard count == 1 || mayBeSentAgain(hasSentNothing()) else { return .notTwice }
        return .send
    }

    /// RFC 9110 §9.2.2: idempotent methods may be sent again, and others if no byte of them was sent.
    func mayBeSentAgain(_ hasSentNothing: @autoclosure () -> Bool) -> Bool { isIdempotent || hasSentNothing() }

    private func gone(_ hasSentNothing: @autoclosure () -> Bool, _ canStartAnew: Bool) -> Verdict {
        .connectionIsGone(isUnsent: count == 0 || canStartAnew && mayBeSentAgain(hasSentNothing()))
    }
}
