internal import CCurl
internal import HTTPTypes
internal import SallyportLoading

/// The head of an answer, then its body in chunks, on their way down. On the loop only.
struct Download {
    /// Chunks are handed over at this size, or at the end of a turn. They stay below the size at which malloc maps
    /// pages for each.
    static let chunkSize = 64 << 10

    private let headerLimit: Int
    private(set) var head: [UInt8] = []
    private var headerBytes = 0
    private(set) var isHeadWhole = false
    var chunk: [UInt8] = []
    /// Bytes of the body so far.
    private var bodyBytes = 0
    private var check = HeaderBlockCheck()

    init(headerLimit: Int) { self.headerLimit = headerLimit }

    enum HeaderFailure { case tooLong, malformed }

    /// The heads of 103 that are kept.
    private static let hintLimit = 16
    private(set) var earlyHints: [[UInt8]] = []
    /// Lines behind the body. The limit of the head counts them too.
    private var trailers: [UInt8] = []
    var hasTrailers: Bool { !trailers.isEmpty }
    var trailerFields: HTTPFields? { trailers.isEmpty ? nil : HeadParser.fields(in: trailers) }

    /// Takes a line, which ends with its line break. An interim head (1xx) is never the answer's.
    mutating func received(_ line: UnsafeRawBufferPointer) -> HeaderFailure? {
        headerBytes += line.count
        guard headerBytes <= headerLimit else { return .tooLong }
        let isBlank = unsafe line.count <= 2 && (line.first == 13 || line.first == 10)
        guard !isHeadWhole else {
            guard !isBlank else { return nil }
            unsafe trailers.append(contentsOf: line)
            return unsafe check.takesTrailer(line) ? nil : .malformed
        }
        if head.isEmpty { head.reserveCapacity(512) }
        unsafe head.append(contentsOf: line)
        guard isBlank, check.status > 0 else { return unsafe check.takes(line) ? nil : .malformed }
        guard isInterim else {
            isHeadWhole = true
            return nil
        }
        if check.status == 100 { mayContinue = true }
        if check.status == 103, earlyHints.count < Self.hintLimit { earlyHints.append(head) }
        head.removeAll(keepingCapacity: true)
        check = HeaderBlockCheck()
        return nil
    }

    /// 101 was not asked for and is no interim answer.
    private var isInterim: Bool { (100..<200).contains(check.status) && check.status != 101 }

    /// The server does not do what `Expect` asks for (RFC 9110 §15.5.18).
    var isExpectationFailed: Bool { check.status == 417 }

    /// Whether the server asks for authentication (RFC 9110 §15.5.2).
    var isUnauthorized: Bool { check.status == 401 }

    var isHTTP2: Bool { isHeadWhole && check.minorVersion == nil }

    /// Whether only the end of the connection ends the body (RFC 9112 §6.3).
    var isDelimitedByClose: Bool {
        isHeadWhole && check.minorVersion != nil && check.contentLength == nil && !check.isChunked && bodyBytes > 0
    }

    // MARK: What HTTP/1.1 of our own needs of the head, once it is whole

    var status: Int { check.status }
    /// The server has said `100 Continue`.
    private(set) var mayContinue = false

    /// How the end of the body is found (RFC 9112 §6.3).
    ///
    /// - Parameter isHead: the request's method is HEAD.
    func bodyLength(isHead: Bool) -> ResponseReader.BodyLength {
        if isHead || check.status == 204 || check.status == 304 { return .none }
        if check.isChunked { return .chunked }
        return check.contentLength.map { .bytes($0) } ?? .untilClose
    }

    /// Whether the server keeps the connection open behind the response (RFC 9112 §9.3).
    var keepsConnection: Bool {
        guard !check.saysClose else { return false }
        return check.minorVersion == 1 || check.saysKeepAlive && !check.isChunked
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if chunk.isEmpty { chunk.reserveCapacity(bytes.count < 4096 ? bytes.count : Self.chunkSize + 16 << 10) }
        bodyBytes += bytes.count
        unsafe chunk.append(contentsOf: bytes)
    }

    /// Takes a chunk as it is, where none has begun.
    mutating func take(_ chunk: [UInt8]) {
        bodyBytes += chunk.count
        self.chunk = chunk
    }

    mutating func takeChunk() -> [UInt8] {
        defer { chunk = [] }
        return chunk
    }
}
