/// How much of a request has been sent, and which bytes are next. A value; the connection sends its bytes.
struct RequestSending {
    enum Phase: Equatable {
        /// The head, and the bytes that follow it at once.
        case body
        /// The body waits for `100 Continue` (RFC 9110 §10.1.1).
        case awaitsContinue
        /// All of the request is in ``unsent``.
        case isWhole
        /// The server has answered before the end, or refuses more: the rest is not sent.
        case isGivenUp
    }

    /// The number of a body's bytes that are read at once.
    static let portion = 64 << 10
    /// The most storage that is kept between requests, in bytes.
    private static let keptStorage = 4 << 10
    private(set) var phase = Phase.isWhole
    private var isChunked = false
    private(set) var bytes: [UInt8] = []
    private(set) var start = 0

    /// Nothing to send.
    init() {}

    init(head: [UInt8], hasBody: Bool, isChunked: Bool, awaitsContinue: Bool) {
        phase = !hasBody ? .isWhole : awaitsContinue ? .awaitsContinue : .body
        self.isChunked = isChunked
        bytes = head
    }

    var isOver: Bool { phase == .isGivenUp || phase == .isWhole && isSent }
    /// All bytes so far were sent.
    var isSent: Bool { start == bytes.count }

    /// The storage of what was sent, empty, for the next head.
    mutating func takeStorage() -> [UInt8] {
        defer { bytes = [] }
        guard isSent, bytes.capacity <= Self.keptStorage else { return [] }
        bytes.removeAll(keepingCapacity: true)
        return bytes
    }

    mutating func sent(_ count: Int) {
        start += count
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        }
    }

    mutating func mayContinue() { if phase == .awaitsContinue { phase = .body } }

    mutating func giveUp() {
        phase = .isGivenUp
        (bytes, start) = ([], 0)
    }

    /// Adds a portion of the body.
    ///
    /// - Parameter fill: writes bytes of the body into the buffer and returns their number, or that there are none.
    /// - Returns: the result of `fill`.
    mutating func fill(_ fill: (UnsafeMutableRawBufferPointer) -> Upload.Portion) -> Upload.Portion {
        var portion = Upload.Portion.end
        let body = unsafe [UInt8](unsafeUninitializedCapacity: Self.portion) { buffer, count in
            portion = unsafe fill(UnsafeMutableRawBufferPointer(buffer))
            if case .bytes(let filled) = portion { count = filled }
        }
        switch portion {
        case .bytes: append(body)
        case .end: end()
        case .paused, .failed: break
        }
        return portion
    }

    private mutating func append(_ body: [UInt8]) {
        if isChunked { bytes += "\(String(body.count, radix: 16))\r\n".utf8 }
        bytes += body
        if isChunked { bytes += "\r\n".utf8 }
    }

    private mutating func end() {
        phase = .isWhole
        if isChunked { bytes += "0\r\n\r\n".utf8 }
    }

    /// The body's source has no more bytes, as it said with its last portion.
    mutating func bodyIsWhole() { if phase == .body { end() } }
}
