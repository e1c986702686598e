/// Whether a request goes out over a connection, and whether it goes out again. A value: the exchange asks it each time
/// that libcurl is about to send.
///
/// libcurl sends a request again, up to five times, where a connection that was used before ends without a byte of an
/// answer, or where the server refused the stream: whatever the method, unless it is kept from it here.
struct SendRule {
    enum Verdict: Equatable {
        case send
        /// It was sent, and is not one to be sent twice.
        case notTwice
        /// It has to go over another connection. `isUnsent`: nothing of it was sent, or it may be sent again.
        case connectionIsGone(isUnsent: Bool)
    }

    let isIdempotent: Bool
    /// The only connection that it may go over; nil for any.
    let requiredConnection: UInt64?
    /// How often it was about to be sent.
    private(set) var count = 0

    init(isIdempotent: Bool, requiredConnection: UInt64?) {
        self.isIdempotent = isIdempotent
        self.requiredConnection = requiredConnection
    }

    var isBegun: Bool { count > 0 }
    var retries: Int { max(0, count - 1) }

    /// A new connection is about to be made for it.
    ///
    /// - Parameters:
    ///   - hasSentNothing: whether no byte of it was sent; asked only where that matters, as it costs a call.
    ///   - canStartAnew: whether its body can be sent from the start.
    func willConnect(hasSentNothing: @autoclosure () -> Bool, canStartAnew: Bool) -> Verdict {
        guard requiredConnection != nil else { return .send }
        return gone(hasSentNothing(), canStartAnew)
    }

    /// It is about to be sent.
    ///
    /// - Parameter connection: the number of the connection that it goes over; nil where connections have none.
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

    /// RFC 9110 §9.2.2: idempotent methods, and others of which no byte was sent.
    func mayBeSentAgain(_ hasSentNothing: @autoclosure () -> Bool) -> Bool { isIdempotent || hasSentNothing() }

    private func gone(_ hasSentNothing: @autoclosure () -> Bool, _ canStartAnew: Bool) -> Verdict {
        .connectionIsGone(isUnsent: count == 0 || canStartAnew && mayBeSentAgain(hasSentNothing()))
    }
}
