internal import CCurl
internal import HTTPTypes
internal import SallyportCore

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
    /// Octets of the body so far.
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

    /// The three octets of the head's status.
    private var status: ArraySlice<UInt8>? {
        guard let space = head.firstIndex(of: UInt8(ascii: " ")), space + 3 < head.count else { return nil }
        return head[(space + 1)...(space + 3)]
    }

    /// The server does not do what `Expect` asks for (RFC 9110 §15.5.18).
    var isExpectationFailed: Bool { status?.elementsEqual("417".utf8) == true }

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

/// Reads a header block as libcurl hands it over: a status line, fields, a blank line.
enum HeadParser {
    static func parse(_ octets: [UInt8]) throws(LoadError) -> HTTPResponse {
        let response = unsafe octets.withUnsafeBufferPointer { unsafe parse($0) }
        guard let response, response.status.code != 101 else {
            throw LoadError(.protocolViolation, at: .response, "The answer has no status line that can be read.")
        }
        return response
    }

    /// The fields of an interim head.
    static func fields(ofHead octets: [UInt8]) -> HTTPFields { (try? parse(octets))?.headerFields ?? [:] }

    /// Fields without a status line.
    static func fields(in octets: [UInt8]) -> HTTPFields {
        fields(ofHead: Array("HTTP/1.1 200 OK\r\n".utf8) + octets)
    }

    private static func parse(_ octets: UnsafeBufferPointer<UInt8>) -> HTTPResponse? {
        var fields = HTTPFields()
        var status: HTTPResponse.Status?
        var start = 0
        while start < octets.count {
            var end = start
            while end < octets.count, unsafe octets[end] != UInt8(ascii: "\n") { end += 1 }
            // What begins with white space goes on with the value above it (RFC 9112 §5.2).
            while unsafe status != nil && isFolded(octets, at: end + 1) {
                end += 1
                while end < octets.count, unsafe octets[end] != UInt8(ascii: "\n") { end += 1 }
            }
            let line = unsafe trimmed(octets, start..<end)
            if let field = unsafe status == nil ? nil : field(octets, line) { fields.append(field) }
            if status == nil {
                status = unsafe Self.status(octets, line)
                if status == nil { return nil }
            }
            start = end + 1
        }
        return status.map { HTTPResponse(status: $0, headerFields: fields) }
    }

    private static func isFolded(_ octets: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        unsafe start < octets.count && (octets[start] == 32 || octets[start] == 9)
    }

    /// `HTTP/1.1 200 OK`; HTTP/2 has no reason.
    private static func status(_ octets: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) -> HTTPResponse.Status? {
        guard let space = line.first(where: { unsafe octets[$0] == UInt8(ascii: " ") }) else { return nil }
        let digits = space + 1..<min(space + 4, line.upperBound)
        let isNumber = digits.count == 3 && digits.allSatisfy { unsafe (48...57).contains(octets[$0]) }
        guard isNumber else { return nil }
        let code = digits.reduce(0) { unsafe $0 * 10 + Int(octets[$1] - 48) }
        guard code >= 100 else { return nil }
        if code == 200 { return .ok }
        let reason = unsafe trimmed(octets, digits.upperBound..<line.upperBound)
        return unsafe .init(code: code, reasonPhrase: String(decoding: octets[reason], as: UTF8.self))
    }

    private static func field(_ octets: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) -> HTTPField? {
        guard let colon = line.first(where: { unsafe octets[$0] == UInt8(ascii: ":") }),
            let name = unsafe HTTPField.Name(String(decoding: octets[line.lowerBound..<colon], as: UTF8.self))
        else { return nil }
        let value = unsafe trimmed(octets, colon + 1..<line.upperBound)
        return unsafe HTTPField(name: name, lenientValue: octets[value])
    }

    private static func trimmed(_ octets: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, unsafe isBlank(octets[start]) { start += 1 }
        while end > start, unsafe isBlank(octets[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isBlank(_ octet: UInt8) -> Bool { octet == 32 || octet == 9 || octet == 13 }
}
