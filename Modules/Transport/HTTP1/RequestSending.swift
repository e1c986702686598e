internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

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

    /// All bytes that are next, which then count as sent.
    mutating func takeNext() -> [UInt8] {
        if piece.isEmpty, start == 0 {
            defer { bytes = [] }
            return bytes
        }
        var next: [UInt8] = []
        while !isSent {
            let count = unsafe withNext { part in
                unsafe next.append(contentsOf: part)
                return part.count
            }
            sent(count)
        }
        return next
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

/// The request line and the fields of a request in HTTP/1.1 (RFC 9112 §3).
///
/// `Host`, the body's framing and `Expect` are created here; such fields of a request are dropped, since duplicates
/// would make the request ambiguous.
enum RequestHead {
    /// - Parameter host: the end of the request line, and the line `Host`.
    static func append(
        _ request: borrowing ExchangeRequest, with body: UploadSource, to bytes: inout [UInt8], host: [UInt8]
    ) {
        let url = request.url
        bytes.reserveCapacity(bytes.count + 512)
        append(request.method.rawValue, to: &bytes)
        bytes.append(32)
        append(url.path, to: &bytes)
        if let query = url.query {
            bytes.append(UInt8(ascii: "?"))
            append(query, to: &bytes)
        }
        bytes += host
        appendFields(of: request, to: &bytes)
        appendFraming(of: request, with: body, to: &bytes)
        append("\r\n", to: &bytes)
    }

    /// The `host` argument of ``append(_:with:to:host:)``.
    static func hostLine(for request: ExchangeRequest) -> [UInt8] {
        Array(" HTTP/1.1\r\nHost: \(request.url.hostField)\r\n".utf8)
    }

    private static func appendFields(of request: borrowing ExchangeRequest, to bytes: inout [UInt8]) {
        var saysAccept = false
        for field in request.headerFields where !HeaderLines.isOwnField(field.name) {
            if field.name == .accept { saysAccept = true }
            append(field.name.rawName, to: &bytes)
            append(":", to: &bytes)
            unsafe field.withUnsafeBytesOfValue { value in
                if !value.isEmpty { bytes.append(32) }
                unsafe bytes.append(contentsOf: value)
            }
            append("\r\n", to: &bytes)
        }
        if !saysAccept { append("Accept: */*\r\n", to: &bytes) }
    }

    private static func appendFraming(
        of request: borrowing ExchangeRequest, with body: UploadSource, to bytes: inout [UInt8]
    ) {
        guard body.hasBody || UploadSource.expectsBody(request.method) else { return }
        if body.isChunked {
            append("Transfer-Encoding: chunked\r\n", to: &bytes)
        } else {
            append("Content-Length: ", to: &bytes)
            append(String(body.length), to: &bytes)
            append("\r\n", to: &bytes)
        }
        if request.asksToContinue { append("Expect: 100-continue\r\n", to: &bytes) }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { unsafe bytes.append(contentsOf: $0) }
    }

    private static func append(_ text: StaticString, to bytes: inout [UInt8]) {
        unsafe bytes.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
