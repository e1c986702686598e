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

    init(headerLimit: Int) { self.headerLimit = headerLimit }

    enum HeaderFailure { case tooLong }

    /// Takes a line, which ends with its line break. An interim head (1xx) is dropped, and so are trailers.
    mutating func received(_ line: UnsafeRawBufferPointer) -> HeaderFailure? {
        headerOctets += line.count
        guard headerOctets <= headerLimit else { return .tooLong }
        guard !isHeadWhole else { return nil }
        if head.isEmpty { head.reserveCapacity(512) }
        unsafe head.append(contentsOf: line)
        let isBlank = unsafe line.count <= 2 && (line.first == 13 || line.first == 10)
        guard isBlank else { return nil }
        if isInterim { head.removeAll(keepingCapacity: true) } else { isHeadWhole = true }
        return nil
    }

    /// `HTTP/1.1 1xx` or `HTTP/2 1xx`; 101 was not asked for and is no interim answer.
    private var isInterim: Bool {
        guard let space = head.firstIndex(of: UInt8(ascii: " ")), space + 3 < head.count else { return false }
        let status = head[(space + 1)...(space + 3)]
        return status.first == UInt8(ascii: "1") && !status.elementsEqual("101".utf8)
    }

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

/// Reads a header block as libcurl hands it over: a status line, fields without folding, a blank line.
enum HeadParser {
    static func parse(_ octets: [UInt8]) throws(LoadError) -> HTTPResponse {
        var lines = octets.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true).makeIterator()
        guard let status = lines.next().flatMap(status), status.code != 101 else {
            throw LoadError(.protocolViolation, at: .response, "The answer has no status line that can be read.")
        }
        var fields = HTTPFields()
        while let line = lines.next() {
            if let field = field(line) { fields.append(field) }
        }
        return HTTPResponse(status: status, headerFields: fields)
    }

    /// `HTTP/1.1 200 OK`; HTTP/2 has no reason.
    private static func status(_ line: ArraySlice<UInt8>) -> HTTPResponse.Status? {
        let parts = trimmed(line).split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard parts.count >= 2, parts[1].count == 3, let code = Int(String(decoding: parts[1], as: UTF8.self)),
            (100...999).contains(code)
        else { return nil }
        if code == 200 { return .ok }
        return .init(code: code, reasonPhrase: parts.count > 2 ? String(decoding: parts[2], as: UTF8.self) : "")
    }

    private static func field(_ line: ArraySlice<UInt8>) -> HTTPField? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        else { return nil }
        return HTTPField(name: name, lenientValue: trimmed(line[(colon + 1)...]))
    }

    private static func trimmed(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = octets
        while let first = rest.first, isBlank(first) { rest.removeFirst() }
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }

    private static func isBlank(_ octet: UInt8) -> Bool { octet == 32 || octet == 9 || octet == 13 }
}
