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

    /// How many bytes of a body are taken at once: as far as a request goes on that is suspended.
    static let portion = 256 << 10
    /// A piece of the body that is no longer, in bytes, is copied behind what is sent before it, so that both go in one
    /// call. A longer one is sent from where it lies.
    private static let shortPiece = 16 << 10
    /// The most storage that is kept between requests, in bytes.
    private static let keptStorage = 4 << 10
    private(set) var phase = Phase.isWhole
    private var isChunked = false
    /// The head, the framing of chunks, and short pieces of the body.
    private var bytes: [UInt8] = []
    private var start = 0
    /// A long piece of the body, which comes after the bytes.
    private var piece: ArraySlice<UInt8> = []

    /// Nothing to send.
    init() {}

    init(head: [UInt8], hasBody: Bool, isChunked: Bool, awaitsContinue: Bool) {
        phase = !hasBody ? .isWhole : awaitsContinue ? .awaitsContinue : .body
        self.isChunked = isChunked
        bytes = head
    }

    var isOver: Bool { phase == .isGivenUp || phase == .isWhole && isSent }
    /// All bytes so far were sent.
    var isSent: Bool { start == bytes.count && piece.isEmpty }

    /// The storage of what was sent, empty, for the next head.
    mutating func takeStorage() -> [UInt8] {
        defer { bytes = [] }
        guard isSent, bytes.capacity <= Self.keptStorage else { return [] }
        bytes.removeAll(keepingCapacity: true)
        return bytes
    }

    /// Calls `send` with the bytes that are next; with none if all were sent.
    func withNext<Result>(_ send: (UnsafeRawBufferPointer) -> Result) -> Result {
        guard start < bytes.count else { return unsafe piece.withUnsafeBytes(send) }
        return unsafe bytes.withUnsafeBytes { unsafe send(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// - Parameter count: how many of the next bytes were sent.
    mutating func sent(_ count: Int) {
        guard start < bytes.count else { return sentOfPiece(count) }
        start += count
        guard start == bytes.count else { return }
        bytes.removeAll(keepingCapacity: true)
        start = 0
    }

    private mutating func sentOfPiece(_ count: Int) {
        piece = piece.dropFirst(count)
        guard piece.isEmpty else { return }
        // Also an empty slice holds the storage.
        piece = []
        if isChunked { bytes += "\r\n".utf8 }
    }

    mutating func mayContinue() { if phase == .awaitsContinue { phase = .body } }

    mutating func giveUp() {
        phase = .isGivenUp
        (bytes, start, piece) = ([], 0, [])
    }

    // MARK: Body

    /// Adds a piece of the body, once what was added before is sent.
    mutating func append(_ piece: ArraySlice<UInt8>) {
        if isChunked { bytes += "\(String(piece.count, radix: 16))\r\n".utf8 }
        guard piece.count <= Self.shortPiece else { return self.piece = piece }
        bytes += piece
        if isChunked { bytes += "\r\n".utf8 }
    }

    /// The body's source has no more bytes. That of a body in chunks says so after its last piece was sent.
    mutating func bodyIsWhole() {
        guard phase == .body else { return }
        phase = .isWhole
        if isChunked { bytes += "0\r\n\r\n".utf8 }
    }
}
