/// Collects the head of an answer, then its body in chunks. A value.
struct Download {
    /// Chunks are passed on at this size, or at the end of a turn. They are smaller than the size from which malloc
    /// maps pages for each.
    static let chunkSize = 64 << 10

    private(set) var head: HeadReader
    private(set) var chunk: [UInt8] = []

    init(headerLimit: Int) { head = HeadReader(limit: headerLimit) }

    /// Reads lines of the head, or a trailer line; moves the position to their end.
    mutating func read(_ lines: UnsafeRawBufferPointer, at position: inout Int) -> HeadReader.Outcome {
        guard head.isWhole else { return unsafe head.read(lines, at: &position) }
        position = lines.count
        return unsafe head.readTrailer(lines)
    }

    /// - Parameter last: the fields of the connection's last head.
    mutating func expectsHTTP1(after last: FieldList) {
        head.allowsHTTP2 = false
        head.follows(last)
    }

    /// Gives the head's fields to the next one of the connection.
    mutating func takeFields() -> FieldList { head.takeFields() }

    var isHeadWhole: Bool { head.isWhole }
    var isHTTP2: Bool { head.isWhole && head.framing.minorVersion == nil }

    /// Whether only the end of the connection ends the body (RFC 9112 §6.3).
    func isDelimitedByClose(isHead: Bool) -> Bool {
        let framing = head.framing
        return head.isWhole && framing.minorVersion != nil && framing.bodyLength(isHead: isHead) == .untilClose
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if chunk.isEmpty { chunk.reserveCapacity(bytes.count < 4096 ? bytes.count : Self.chunkSize + 16 << 10) }
        unsafe chunk.append(contentsOf: bytes)
    }

    /// Passes on a chunk without copying, if none has begun.
    mutating func take(_ chunk: [UInt8]) {
        self.chunk = chunk
    }

    // MARK: Bodies in one piece

    /// The most memory that is reserved because of a declared length, in bytes.
    private static let reserved = 4 << 20
    /// The body is collected: its length is known, and its reader wants it at once.
    private(set) var isGathered = false

    /// - Parameter limit: the longest body that is collected, in bytes; nil if the reader wants chunks.
    mutating func gather(upTo limit: Int?) {
        guard let limit, let length = head.framing.contentLength, length <= limit, 200..<300 ~= head.framing.status
        else { return }
        isGathered = true
        chunk.reserveCapacity(min(Int(length), Self.reserved))
    }

    mutating func takeChunk() -> [UInt8] {
        defer { chunk = [] }
        return chunk
    }
}
