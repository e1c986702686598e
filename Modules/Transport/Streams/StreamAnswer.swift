internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Reads one answer from the bytes of a stream: its head, its body and the trailers. A value without I/O.
struct StreamAnswer {
    /// What some of the bytes contained.
    struct Content {
        /// Of the body, without the framing of chunks.
        var body: [UInt8] = []
        /// Whether a line or a piece of the body has come. A line that grows without end is no progress.
        var isProgress = false
        /// Nothing more is read.
        var failure: LoadError?
    }

    private let isToHead: Bool
    private let limit: ByteCount
    private(set) var head: HeadReader
    /// Nil before the head is complete.
    private var body: BodyReader?
    /// An incomplete line, with the bytes after it.
    private var rest: [UInt8] = []
    private var hasBytesBehind = false

    /// - Parameter last: what ``takeFields()`` of the stream's last answer returned.
    init(to request: ExchangeRequest, after last: FieldList) {
        isToHead = request.method == .head
        limit = request.headerLimit
        head = HeadReader(limit: limit.bytes)
        head.allowsHTTP2 = false
        head.follows(last)
    }

    var isWhole: Bool { body?.isWhole == true }

    /// Whether another answer may follow on the stream.
    var keepsStream: Bool { isWhole && head.framing.keepsConnection && length != .untilClose && !hasBytesBehind }

    private var length: BodyReader.Length { head.framing.bodyLength(isHead: isToHead) }

    /// Gives the head's fields to the next answer.
    mutating func takeFields() -> FieldList { head.takeFields() }

    /// The server has ended its side.
    ///
    /// - Returns: whether the answer is whole.
    mutating func streamEnded() -> Bool { body?.connectionEnded() == true }

    mutating func take(_ chunk: [UInt8]) -> Content {
        if rest.isEmpty, !chunk.isEmpty, body?.takesAsBody(chunk.count) == true {
            return Content(body: chunk, isProgress: true)
        }
        if rest.isEmpty { rest = chunk } else { rest += chunk }
        let bytes = rest
        var content = Content()
        let count = unsafe bytes.withUnsafeBytes { unsafe read($0, &content) }
        rest = content.failure != nil || count == bytes.count ? [] : Array(bytes[count...])
        return content
    }

    /// - Returns: how many bytes were read.
    private mutating func read(_ bytes: UnsafeRawBufferPointer, _ content: inout Content) -> Int {
        var position = 0
        if body == nil { unsafe readHead(bytes, &position, &content) }
        while content.failure == nil, let piece = unsafe body?.next(in: bytes, at: &position) {
            switch piece {
            case .body(let range):
                content.isProgress = true
                unsafe content.body.append(contentsOf: bytes[range])
            case .trailer(let range):
                content.isProgress = true
                let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
                content.failure = unsafe head.readTrailer(line).failure(limit, after: head.taken)
            case .more: return position
            case .end:
                hasBytesBehind = hasBytesBehind || position < bytes.count
                return bytes.count
            case .malformed: content.failure = BodyReader.brokenChunks
            }
        }
        return position
    }

    private mutating func readHead(
        _ bytes: UnsafeRawBufferPointer, _ position: inout Int, _ content: inout Content
    ) {
        let outcome = unsafe head.read(bytes, at: &position)
        content.isProgress = position > 0
        content.failure = outcome.failure(limit, after: head.taken)
        if head.isWhole { body = BodyReader(length, lineLimit: limit.bytes) }
        guard outcome == .more, head.framing.status == 0, unsafe !StatusLine.mayBegin(bytes[position...]) else {
            return
        }
        content.failure = StatusLine.missing
    }
}
