internal import CCurl

/// Which directions of a transfer stand still, and why: its reader has no room, its body's source has no bytes, or it is
/// suspended from outside. A value: the exchange tells libcurl.
struct TransferFlow {
    /// The reader has no room.
    private(set) var isReceivingPaused = false
    /// Suspended, in both directions.
    private(set) var isHeld = false
    /// libcurl forgets a pause that comes before it sends: it is made when the turn ends.
    private var isHoldDue = false

    /// Whether what comes is taken.
    var mayReceive: Bool { !isReceivingPaused && !isHeld }

    mutating func readerIsFull() { isReceivingPaused = true }

    /// - Returns: whether anything has changed.
    mutating func readerHasRoom() -> Bool {
        defer { isReceivingPaused = false }
        return isReceivingPaused
    }

    /// It was suspended or resumed.
    ///
    /// - Parameter hasSent: whether libcurl has begun to send, and so keeps a pause.
    /// - Returns: whether libcurl is to be told now.
    mutating func hold(_ isSuspended: Bool, hasSent: Bool) -> Bool {
        guard isHeld != isSuspended else { return false }
        isHeld = isSuspended
        return hasSent
    }

    /// - Returns: whether the turn's end has something to do.
    mutating func requestIsSent() -> Bool {
        if isHeld { isHoldDue = true }
        return isHeld
    }

    /// - Returns: whether libcurl is to be told.
    mutating func turnEnds() -> Bool {
        defer { isHoldDue = false }
        return isHoldDue
    }

    /// What `curl_easy_pause` is told.
    func bits(isSendingPaused: Bool) -> Int32 {
        (mayReceive ? 0 : CURLPAUSE_RECV) | (isSendingPaused || isHeld ? CURLPAUSE_SEND : 0)
    }
}
