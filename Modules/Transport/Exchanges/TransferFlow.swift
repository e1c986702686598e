internal import CCurl

/// Which directions of a transfer are paused, and why: its reader has no room, its body's source has no bytes, or the
/// app has suspended it. A value; the exchange carries its decisions out in libcurl.
struct TransferFlow {
    /// Whether receiving is paused because the reader has no room.
    private(set) var isReceivingPaused = false
    /// Whether the transfer is suspended, in both directions.
    private(set) var isHeld = false
    /// Whether a pause is still to be made at the end of the turn: libcurl forgets a pause made before it sends.
    private var isHoldDue = false

    /// Whether received bytes are taken.
    var mayReceive: Bool { !isReceivingPaused && !isHeld }

    mutating func readerIsFull() { isReceivingPaused = true }

    /// - Returns: whether anything has changed.
    mutating func readerHasRoom() -> Bool {
        defer { isReceivingPaused = false }
        return isReceivingPaused
    }

    /// The transfer was suspended or resumed.
    ///
    /// - Parameter hasSent: whether libcurl has begun to send, and so will not forget a pause.
    /// - Returns: whether the pause is to be changed in libcurl now.
    mutating func hold(_ isSuspended: Bool, hasSent: Bool) -> Bool {
        guard isHeld != isSuspended else { return false }
        isHeld = isSuspended
        return hasSent
    }

    /// - Returns: whether there is something to do at the end of the turn.
    mutating func requestIsSent() -> Bool {
        if isHeld { isHoldDue = true }
        return isHeld
    }

    /// - Returns: whether the pause is to be changed in libcurl.
    mutating func turnEnds() -> Bool {
        defer { isHoldDue = false }
        return isHoldDue
    }

    /// The argument for `curl_easy_pause`.
    func bits(isSendingPaused: Bool) -> Int32 {
        (mayReceive ? 0 : CURLPAUSE_RECV) | (isSendingPaused || isHeld ? CURLPAUSE_SEND : 0)
    }
}
