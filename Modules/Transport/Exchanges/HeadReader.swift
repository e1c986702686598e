internal import HTTPTypes

/// Reads the head of an answer in one pass: checks each line, creates its field, and records the framing of the body
/// (RFC 9112 §4 to §6). Heads of preceding interim answers are read too. A value without I/O, which keeps no bytes.
///
/// A line that only some readers accept as a field, and two lengths for one body, enable response splitting: they end
/// the exchange instead of being interpreted.
struct HeadReader {
    enum Outcome: Equatable {
        /// There are no more bytes, or only an incomplete line: call again with these and further bytes.
        case more
        /// The head of the final answer has ended. The bytes at the position belong to the body.
        case whole
        case tooLong
        case malformed
        /// 101, which was not requested.
        case switched
    }

    private enum Line { case status, field, framing }

    /// The most 103 answers whose fields are kept.
    private static let hintLimit = 16

    /// libcurl writes the heads of HTTP/2 as lines with that version, which an HTTP/1.1 connection must not send.
    var allowsHTTP2 = true
    /// The limit of all lines, including those of interim heads and trailers, in bytes.
    private let limit: Int
    /// The length of the lines that were read, interim heads and trailers included, in bytes.
    private(set) var taken = 0
    /// How many bytes at the position were already searched for the end of their line.
    private var searched = 0
    private var last: Line?
    private var status = HTTPResponse.Status.ok
    private var fields = FieldList()
    private(set) var framing = AnswerFraming()
    private(set) var isWhole = false
    /// The server has said `100 Continue`.
    private(set) var mayContinue = false
    /// The fields of 103 answers, at most 16 (RFC 8297).
    private(set) var earlyHints: [HTTPFields] = []
    private var trailers = FieldList()

    init(limit: Int) { self.limit = limit }

    /// Whether a byte of an answer has come.
    var hasBegun: Bool { taken > 0 || searched > 0 }

    /// The final answer's head, once it is complete.
    var response: HTTPResponse {
        @inline(__always) get { HTTPResponse(status: status, headerFields: fields.fields) }
    }

    /// Reads complete lines until the head has ended; moves the position to their end.
    mutating func read(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> Outcome {
        while !isWhole {
            guard let end = unsafe bytes.lineEnd(from: position + searched) else {
                searched = bytes.count - position
                return taken + searched > limit ? .tooLong : .more
            }
            searched = 0
            let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<end])
            position = end
            taken += line.count
            guard taken <= limit else { return .tooLong }
            guard unsafe takes(line.withoutLineBreak) else { return .malformed }
            if framing.status == 101 { return .switched }
        }
        return .whole
    }

    /// Reads a trailer line, with its line break. Its field does not affect the framing (RFC 9110 §6.5.1).
    mutating func readTrailer(_ line: UnsafeRawBufferPointer) -> Outcome {
        taken += line.count
        guard taken <= limit else { return .tooLong }
        let content = unsafe line.withoutLineBreak
        if unsafe content.isEmpty { return .whole }
        if unsafe content.isFolded {
            guard !trailers.isEmpty, unsafe !content.hasControl else { return .malformed }
            unsafe trailers.fold(content)
            return .whole
        }
        guard let parts = unsafe FieldLine.read(content) else { return .malformed }
        unsafe trailers.append(parts, of: content)
        return .whole
    }

    var hasTrailers: Bool { !trailers.isEmpty }
    /// Nil if there are none.
    var trailerFields: HTTPFields? { trailers.isEmpty ? nil : trailers.fields }

    // MARK: Lines

    /// - Returns: false for a refused line.
    private mutating func takes(_ line: UnsafeRawBufferPointer) -> Bool {
        guard last != nil else { return unsafe takesStatus(line) }
        if unsafe line.isEmpty {
            ends()
            return true
        }
        if unsafe line.isFolded { return unsafe takesFolded(line) }
        guard let (role, value) = unsafe fields.repeats(line) ?? read(line) else { return false }
        last = role.framesBody ? .framing : .field
        return unsafe framing.takes(role, UnsafeRawBufferPointer(rebasing: line[value]))
    }

    private mutating func read(_ line: UnsafeRawBufferPointer) -> (role: FieldNames.Role, value: Range<Int>)? {
        guard let parts = unsafe FieldLine.read(line) else { return nil }
        unsafe fields.append(parts, of: line)
        return (parts.role, parts.value)
    }

    private mutating func takesStatus(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let line = unsafe StatusLine(line), line.minorVersion != nil || allowsHTTP2 else { return false }
        last = .status
        framing = AnswerFraming(status: line.status.code, minorVersion: line.minorVersion)
        status = line.status
        return true
    }

    /// A line that begins with white space continues the value above it (RFC 9112 §5.2), which must not be one that
    /// determines the body's framing.
    private mutating func takesFolded(_ line: UnsafeRawBufferPointer) -> Bool {
        guard last == .field, unsafe !line.hasControl else { return false }
        unsafe fields.fold(line)
        return true
    }

    /// The blank line. An interim head (1xx) is never the final one.
    private mutating func ends() {
        guard (100..<200).contains(framing.status) else { return isWhole = true }
        if framing.status == 100 { mayContinue = true }
        if framing.status == 103, earlyHints.count < Self.hintLimit { earlyHints.append(fields.fields) }
        (last, framing) = (nil, AnswerFraming())
        fields.startOver()
    }

    // MARK: The head before

    /// Called before the first line.
    ///
    /// - Parameter last: what ``takeFields()`` of the connection's last head returned.
    mutating func follows(_ last: FieldList) { fields = last }

    /// Gives the fields to the next head of the connection, which may come much later: without those that are not kept
    /// so long.
    mutating func takeFields() -> FieldList {
        defer { fields = FieldList() }
        fields.startOver()
        return fields
    }
}

/// The first line of an answer: `HTTP/1.1 200`, `HTTP/1.0 200 OK` (RFC 9112 §4), and libcurl's `HTTP/2 200`.
struct StatusLine {
    let status: HTTPResponse.Status
    /// Of HTTP/1: 0 or 1; nil for HTTP/2.
    let minorVersion: Int?

    /// - Parameter line: without its line break.
    init?(_ line: UnsafeRawBufferPointer) {
        guard line.count >= 10, unsafe line.begins(with: "HTTP/"), unsafe !line.hasControl else { return nil }
        let code: Range<Int>
        switch unsafe line[5] {
        case UInt8(ascii: "1"):
            guard line.count >= 12, unsafe line[6] == UInt8(ascii: "."), case let minor = unsafe line[7] &- 48,
                minor <= 1
            else { return nil }
            (minorVersion, code) = (Int(minor), 9..<12)
        case UInt8(ascii: "2"): (minorVersion, code) = (nil, 7..<10)
        default: return nil
        }
        guard unsafe line[code.lowerBound - 1] == 32,
            unsafe line.count == code.upperBound || line[code.upperBound] == 32,
            let number = unsafe line.number(in: code), number >= 100
        else { return nil }
        status = unsafe Self.status(Int(number), reason: UnsafeRawBufferPointer(rebasing: line[code.upperBound...]))
    }

    private static func status(_ code: Int, reason: UnsafeRawBufferPointer) -> HTTPResponse.Status {
        if code == 200 { return .ok }
        return unsafe .init(code: code, reasonPhrase: String(decoding: reason.trimmed, as: UTF8.self))
    }
}

/// What a head determines about the body's end and the connection (RFC 9112 §6.3, §9.3).
struct AnswerFraming: Equatable {
    /// 0 before the status line.
    private(set) var status = 0
    /// Of HTTP/1: 0 or 1; nil for HTTP/2.
    private(set) var minorVersion: Int?
    private(set) var contentLength: Int64?
    private(set) var isChunked = false
    /// The server says that it closes the connection after the response, or that it keeps it (RFC 9112 §9.6, §9.3).
    private var saysClose = false
    private var saysKeepAlive = false

    init() {}

    init(status: Int, minorVersion: Int?) {
        self.status = status
        self.minorVersion = minorVersion
    }

    /// - Returns: false for a line that makes the body's length ambiguous.
    mutating func takes(_ role: FieldNames.Role, _ value: UnsafeRawBufferPointer) -> Bool {
        switch role {
        case .plain, .secret: return true
        case .connection:
            unsafe takesConnection(value)
            return true
        case .contentLength: return unsafe takesLength(value)
        case .transferEncoding: return unsafe takesCoding(value)
        }
    }

    /// Other options are ignored.
    private mutating func takesConnection(_ value: UnsafeRawBufferPointer) {
        unsafe value.forEachElement { option in
            if unsafe option.isEqual(toLowercase: "close") { saysClose = true }
            if unsafe option.isEqual(toLowercase: "keep-alive") { saysKeepAlive = true }
            return true
        }
    }

    /// The same length several times counts once (RFC 9110 §8.6).
    private mutating func takesLength(_ value: UnsafeRawBufferPointer) -> Bool {
        let isTaken = unsafe value.forEachElement { element in
            guard let length = unsafe element.number(in: 0..<element.count), contentLength ?? length == length else {
                return false
            }
            contentLength = length
            return true
        }
        return isTaken && !isChunked
    }

    /// No other coding was requested, and none may be used unrequested (RFC 9112 §7).
    private mutating func takesCoding(_ value: UnsafeRawBufferPointer) -> Bool {
        let isRefused = isChunked || contentLength != nil
        isChunked = true
        return unsafe !isRefused && value.isEqual(toLowercase: "chunked")
    }

    /// How the end of the body is found (RFC 9112 §6.3).
    ///
    /// - Parameter isHead: the request's method is HEAD.
    func bodyLength(isHead: Bool) -> BodyReader.Length {
        if isHead || status == 204 || status == 304 { return .none }
        if isChunked { return .chunked }
        return contentLength.map { .bytes($0) } ?? .untilClose
    }

    /// Whether the server keeps the connection open after the response (RFC 9112 §9.3).
    var keepsConnection: Bool {
        guard !saysClose else { return false }
        return minorVersion == 1 || saysKeepAlive && !isChunked
    }
}

/// The fields of a header block, as they are read.
///
/// A list that remembers can be used for the next block of the same connection: servers repeat most lines word by word,
/// and a line that stands at the same place as in the block before has the same field, so it is not read again.
struct FieldList {
    /// A line of the block, or of the block before.
    private struct Line {
        /// Empty if the field is not that of this line alone.
        var bytes: [UInt8]
        let role: FieldNames.Role
        /// The place of the value in the line.
        let value: Range<Int>
    }

    /// Longer blocks are not remembered, in bytes: a connection keeps its last one while it is idle.
    private static let longestBlock = 8 << 10

    private let remembers: Bool
    /// The fields of this block; behind them, if it remembers, those of the block before.
    private var list = HTTPFields()
    /// The lines of the fields in `list`, if it remembers them.
    private var lines: [Line] = []
    private var count = 0
    /// The length of this block's lines, in bytes.
    private var length = 0
    /// The value of the last field, if it is folded: made a field once all of it is there, however many lines it has.
    private var folded: [UInt8]?
    /// Whether the block has a field that is not kept longer than its exchange.
    private var isSecret = false

    init(remembers: Bool = false) { self.remembers = remembers }

    var isEmpty: Bool { count == 0 }

    var fields: HTTPFields {
        @inline(__always) get { folded == nil && list.count == count ? list : wholeFields }
    }

    private var wholeFields: HTTPFields {
        var whole = self
        whole.endFold()
        whole.list.removeSubrange(count...)
        return whole.list
    }

    /// Adds the next line's field if the line is the same as in the block before.
    ///
    /// - Parameter line: not empty, without its line break.
    /// - Returns: what the line means, and the place of its value; nil if it is to be read and appended.
    mutating func repeats(_ line: UnsafeRawBufferPointer) -> (role: FieldNames.Role, value: Range<Int>)? {
        guard count < lines.count, unsafe line.isEqual(to: lines[count].bytes) else { return nil }
        endFold()
        defer { count += 1 }
        length += line.count
        return (lines[count].role, lines[count].value)
    }

    mutating func append(_ parts: FieldLine.Parts, of line: UnsafeRawBufferPointer) {
        endFold()
        if parts.role == .secret { isSecret = true }
        if count < list.count {
            list.replaceSubrange(count..<count + 1, with: CollectionOfOne(parts.field))
        } else {
            if count == 0 { list.reserveCapacity(16) }
            list.append(parts.field)
        }
        if remembers { remember(Line(bytes: unsafe Array(line), role: parts.role, value: parts.value)) }
        count += 1
        length += line.count
    }

    private mutating func remember(_ line: Line) {
        if count < lines.count { lines[count] = line } else { lines.append(line) }
    }

    /// Adds a line to the value of the last field. The line break becomes white space (RFC 9112 §5.2).
    mutating func fold(_ line: UnsafeRawBufferPointer) {
        guard count > 0 else { return }
        var value = unsafe folded.take() ?? list[count - 1].withUnsafeBytesOfValue { unsafe Array($0) }
        value += [32, 32]
        unsafe value.append(contentsOf: line)
        folded = value
    }

    private mutating func endFold() {
        guard let value = folded.take() else { return }
        let end = value.lastIndex { $0 != 32 && $0 != 9 }.map { $0 + 1 } ?? 0
        let last = count - 1
        list[last] = HTTPField(name: list[last].name, lenientValue: value[..<end])
        // The field now comes from several lines, so this line alone must not be taken for it in the next head.
        if last < lines.count { lines[last].bytes = [] }
    }

    /// Begins the next block of the connection.
    mutating func startOver() {
        guard remembers, !isSecret, length <= Self.longestBlock else { return self = FieldList(remembers: remembers) }
        folded = nil
        // The limit is of this block: those before it may have been longer.
        if list.count > count { list.removeSubrange(count...) }
        if lines.count > count { lines.removeSubrange(count...) }
        (count, length) = (0, 0)
    }
}
