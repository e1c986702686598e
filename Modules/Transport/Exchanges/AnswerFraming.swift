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
