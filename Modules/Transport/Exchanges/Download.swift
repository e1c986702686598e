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
    private var headerOctets = 0
    private(set) var isHeadWhole = false
    var chunk: [UInt8] = []
    /// Bytes of the body so far.
    private var bodyOctets = 0
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
        headerOctets += line.count
        guard headerOctets <= headerLimit else { return .tooLong }
        guard !isHeadWhole else {
            if line.count > 2 { unsafe trailers.append(contentsOf: line) }
            return nil
        }
        if head.isEmpty { head.reserveCapacity(512) }
        let start = head.count
        unsafe head.append(contentsOf: line)
        let isBlank = unsafe line.count <= 2 && (line.first == 13 || line.first == 10)
        guard isBlank else { return check.takes(head[start...]) ? nil : .malformed }
        guard isInterim else {
            isHeadWhole = true
            return nil
        }
        if status?.elementsEqual("103".utf8) == true, earlyHints.count < Self.hintLimit { earlyHints.append(head) }
        head.removeAll(keepingCapacity: true)
        check = HeaderBlockCheck()
        return nil
    }

    /// `HTTP/1.1 1xx` or `HTTP/2 1xx`; 101 was not asked for and is no interim answer.
    private var isInterim: Bool {
        guard let status else { return false }
        return status.first == UInt8(ascii: "1") && !status.elementsEqual("101".utf8)
    }

    /// The three bytes of the head's status.
    private var status: ArraySlice<UInt8>? {
        guard let space = head.firstIndex(of: UInt8(ascii: " ")), space + 3 < head.count else { return nil }
        return head[(space + 1)...(space + 3)]
    }

    /// The server does not do what `Expect` asks for (RFC 9110 §15.5.18).
    var isExpectationFailed: Bool { status?.elementsEqual("417".utf8) == true }

    /// Whether the server asks for authentication (RFC 9110 §15.5.2).
    var isUnauthorized: Bool { status?.elementsEqual("401".utf8) == true }

    var isHTTP2: Bool { head.starts(with: "HTTP/2".utf8) }

    /// Whether only the end of the connection ends the body (RFC 9112 §6.3).
    var isDelimitedByClose: Bool {
        guard head.starts(with: "HTTP/1".utf8), let head = try? HeadParser.parse(head) else { return false }
        let fields = head.headerFields
        return fields[.contentLength] == nil && fields[.transferEncoding] == nil && bodyOctets > 0
    }

    mutating func append(_ octets: UnsafeRawBufferPointer) {
        if chunk.isEmpty { chunk.reserveCapacity(octets.count < 4096 ? octets.count : Self.chunkSize + 16 << 10) }
        bodyOctets += octets.count
        unsafe chunk.append(contentsOf: octets)
    }

    mutating func takeChunk() -> [UInt8] {
        defer { chunk = [] }
        return chunk
    }
}
