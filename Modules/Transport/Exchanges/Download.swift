internal import HTTPTypes

/// Collects the head of an answer, then its body in chunks. A value.
struct Download {
    /// Chunks are passed on at this size, or at the end of a turn. They are smaller than the size from which malloc
    /// maps pages for each.
    static let chunkSize = 64 << 10
    /// The most memory that is reserved because of a declared length, in bytes.
    private static let reserved = 4 << 20

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

    /// The final answer's head, and the fields of the hints before it. Mutating, so that both are read in place: a
    /// getter would be given a copy of all that was received.
    mutating func answer() -> (head: HTTPResponse, hints: [HTTPFields]) { (head.response, head.earlyHints) }

    /// Nil before the head is whole.
    var framing: AnswerFraming? { head.isWhole ? head.framing : nil }

    /// Whether only the end of the connection ends the body (RFC 9112 §6.3).
    func isDelimitedByClose(isHead: Bool) -> Bool {
        guard let framing, framing.minorVersion != nil else { return false }
        return framing.bodyLength(isHead: isHead) == .untilClose
    }

    /// What was not passed on yet.
    var arrival: AnswerState.Arrival {
        AnswerState.Arrival(
            isHeadWhole: head.isWhole, hasTrailers: head.isWhole && head.hasTrailers, hasBytes: !chunk.isEmpty)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if chunk.isEmpty { chunk.reserveCapacity(bytes.count < 4096 ? bytes.count : Self.chunkSize + 16 << 10) }
        unsafe chunk.append(contentsOf: bytes)
    }

    /// Takes a chunk as it is; there is none before it.
    mutating func take(_ chunk: [UInt8]) { self.chunk = chunk }

    /// Makes room for a body that is collected.
    mutating func reserve() {
        if let length = head.framing.contentLength { chunk.reserveCapacity(min(Int(length), Self.reserved)) }
    }

    mutating func takeChunk() -> [UInt8] {
        let taken = chunk
        chunk = []
        return taken
    }
}
