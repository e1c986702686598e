internal import CCurl
internal import SallyportCore
internal import SallyportLoading

/// The connection of an exchange: a transfer of libcurl, or our own HTTP/1.1 connection. On the loop only.
protocol HTTPConnection: AnyObject {
    /// The exchange may now receive or send, or may no longer do so.
    func flowChanged(_ flow: TransferFlow, isSendingPaused: Bool)
    /// Whether the rest of the request is not sent, since the server has answered without it.
    var hasGivenUpSending: Bool { get }
    /// Whether more of the answer is read at once, in the loop's next turn.
    var readsOn: Bool { get }
    /// Whether an earlier exchange made the connection.
    var isReused: Bool { get }
    /// For TLS with the server; nil without TLS.
    var tlsFacts: TLSFacts? { get }
    var channelBinding: ChannelBinding? { get }
    /// The address and port that the connection leads to; nil before it is open.
    var peer: Endpoint? { get }
    var sentBytes: LoadRecord.Bytes { get }
    var receivedBytes: LoadRecord.Bytes { get }
    func facts(of attempt: Attempt, on path: ConnectionPath?) -> SharedConnectionFacts
    /// When the phases of the exchange were done, counted from the start of its attempt.
    ///
    /// - Parameter queue: how long it waited for its turn.
    func timing(of attempt: Attempt, queue: Duration, isDirect: Bool) -> ExchangeTiming
}

extension EasyHandle: HTTPConnection {
    func flowChanged(_ flow: TransferFlow, isSendingPaused: Bool) {
        _ = unsafe curl_easy_pause(raw, flow.bits(isSendingPaused: isSendingPaused))
    }

    /// libcurl says nothing of it: such an answer makes it stop, unless the server closes the connection anyway.
    var hasGivenUpSending: Bool { long(CURLINFO_RESPONSE_CODE) >= 300 }

    var readsOn: Bool { false }

    var isReused: Bool { long(CURLINFO_NUM_CONNECTS) == 0 }

    var hasSentNothing: Bool { long(CURLINFO_REQUEST_SIZE) == 0 }

    func facts(of attempt: Attempt, on path: ConnectionPath?) -> SharedConnectionFacts {
        var facts = attempt.connectionFacts(self, proxy: path?.proxy)
        facts.isReused = isReused
        facts.httpVersion = long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) ? "HTTP/2" : "HTTP/1.1"
        return SharedConnectionFacts(facts)
    }

    /// By our own clock as far as possible: libcurl counts anew each time it looks for a connection, as when a transfer
    /// has waited for the handshake of another, or is repeated, and adds up what it counts (7.88).
    func timing(of attempt: Attempt, queue: Duration, isDirect: Bool) -> ExchangeTiming {
        var timing = ExchangeTiming()
        timing.queue = queue
        if let sentAt = attempt.sentAt { timing.requestSent = attempt.elapsed(until: sentAt) }
        if let answeredAt = attempt.answeredAt { timing.firstByte = attempt.elapsed(until: answeredAt) }
        if !isReused { attempt.tellConnecting(to: &timing, self, isDirect: isDirect) }
        return timing
    }
}
