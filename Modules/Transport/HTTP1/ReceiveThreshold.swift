/// How many bytes must have arrived before the kernel reports a connection as readable (socket(7), `SO_RCVLOWAT`). A
/// value, which decides; the connection sets the option.
///
/// A long body that comes fast is read in large portions: otherwise the loop and the body's reader would wake for every
/// few packets. A server that becomes slow is noticed by a timer and read as its bytes come again, so no byte waits for
/// the rest of its portion longer than twice ``patience``.
struct ReceiveThreshold {
    /// In bytes.
    static let portion = 192 << 10
    /// As long as this much of a body is missing, a portion will come. More than a portion, since OpenSSL may have read
    /// the beginning of it already.
    private static let least = Int64(2 * portion)
    /// What is read at once from a server that is fast, in bytes.
    private static let much = 64 << 10
    /// How often the connection looks whether anything has come since the last time.
    static let patience = Duration.milliseconds(50)

    private(set) var bytes = 1
    private var hasMoved = false

    var isRaised: Bool { bytes > 1 }

    /// Called after bytes were read.
    ///
    /// - Parameters:
    ///   - missing: how many bytes of the body are still to come; 0 if that is not known.
    ///   - count: how many bytes were read.
    /// - Returns: whether the option must be set anew.
    mutating func hasRead(_ count: Int, missing: Int64) -> Bool {
        if count > 0 { hasMoved = true }
        if missing < Self.least { return change(to: 1) }
        return !isRaised && count >= Self.much ? change(to: Self.portion) : false
    }

    /// Called each time ``patience`` has passed while it is raised.
    ///
    /// - Returns: whether the option must be set anew: nothing came meanwhile.
    mutating func isDue() -> Bool {
        defer { hasMoved = false }
        return hasMoved ? false : change(to: 1)
    }

    private mutating func change(to value: Int) -> Bool {
        defer { bytes = value }
        return bytes != value
    }
}
