internal import SallyportBase

/// Divides the bytes after a head into pieces of the body and lines of a trailer section (RFC 9112 §6.3, §7.1). A value
/// without I/O, which keeps no bytes.
///
/// The framing of chunks is parsed strictly: a size has at most 16 digits, and CR LF ends each line and each chunk.
package struct BodyReader: Sendable {
    /// How the end of a body is found.
    package enum Length: Equatable {
        case none
        case bytes(Int64)
        case chunked
        /// By the end of the connection.
        case untilClose
    }

    /// The next piece at the reader's position, as a range of the bytes.
    package enum Piece: Equatable {
        /// A line of a trailer section, with its line break; also the blank line at its end.
        case trailer(Range<Int>)
        case body(Range<Int>)
        /// The response is complete. Further bytes are unexpected.
        case end
        /// There are no more bytes, or only an incomplete line: call again with these and further bytes.
        case more
        case malformed
    }

    private enum State: Equatable {
        case trailers
        case length(Int64)
        case chunkSize, chunkExtension
        case chunk(Int64)
        case chunkEnd
        case untilClose
        case whole
    }

    /// The longest line of a trailer section, in bytes.
    private let lineLimit: Int
    private var state: State
    /// How many bytes at the position were already searched for the end of their line.
    private var searched = 0
    /// The size of a chunk, as far as its digits have been read.
    private var size: Int64 = 0
    private var digits = 0
    /// The last byte was the CR of a line break whose LF has not arrived yet.
    private var isReturnRead = false

    package init(_ length: Length, lineLimit: Int) {
        self.lineLimit = lineLimit
        state =
            switch length {
            case .none: .whole
            case .bytes(let count): count > 0 ? .length(count) : .whole
            case .chunked: .chunkSize
            case .untilClose: .untilClose
            }
    }

    /// Counts this many bytes as a part of the body, if they can be nothing else.
    package mutating func takesAsBody(_ count: Int) -> Bool {
        switch state {
        case .untilClose: return true
        case .length(let rest) where rest >= count:
            state = rest > count ? .length(rest - Int64(count)) : .whole
            return true
        default: return false
        }
    }

    package var isWhole: Bool { state == .whole }

    /// How many bytes of the body have not arrived yet, if its length is known; otherwise 0.
    var missing: Int64 { if case .length(let rest) = state { rest } else { 0 } }

    /// The server has closed the connection.
    ///
    /// - Returns: whether that is the end of the response.
    mutating func connectionEnded() -> Bool {
        if state == .untilClose { state = .whole }
        return state == .whole
    }

    /// The next piece; moves the position to its end.
    package mutating func next(in bytes: UnsafeRawBufferPointer, at position: inout Int) -> Piece {
        while true {
            if state == .whole { return .end }
            guard position < bytes.count else { return .more }
            let piece: Piece?
            switch state {
            case .trailers: return unsafe trailer(bytes, &position)
            case .length(let rest): return body(bytes.count, &position, rest)
            case .untilClose: return body(bytes.count, &position)
            case .chunk(let rest): return chunk(bytes.count, &position, rest)
            case .chunkSize: piece = unsafe readSize(bytes, &position)
            case .chunkExtension: piece = unsafe skipExtension(bytes, &position)
            case .chunkEnd: piece = unsafe readChunkEnd(bytes, &position)
            case .whole: piece = .end
            }
            if let piece { return piece }
        }
    }

    // MARK: Lines

    private mutating func trailer(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Piece {
        guard let end = unsafe bytes.lineEnd(from: position + searched) else {
            searched = bytes.count - position
            return searched > lineLimit ? .malformed : .more
        }
        searched = 0
        let line = position..<end
        position = end
        if unsafe UnsafeRawBufferPointer(rebasing: bytes[line]).withoutLineBreak.isEmpty { state = .whole }
        return .trailer(line)
    }

    // MARK: Bodies

    private mutating func body(_ end: Int, _ position: inout Int, _ rest: Int64 = .max) -> Piece {
        let start = position
        position += Int(min(Int64(end - position), rest))
        if state != .untilClose {
            let left = rest - Int64(position - start)
            state = left > 0 ? .length(left) : .whole
        }
        return .body(start..<position)
    }

    private mutating func chunk(_ end: Int, _ position: inout Int, _ rest: Int64) -> Piece {
        let start = position
        position += Int(min(Int64(end - position), rest))
        let left = rest - Int64(position - start)
        state = left > 0 ? .chunk(left) : .chunkEnd
        return .body(start..<position)
    }

    // MARK: Framing of chunks

    /// - Returns: nil to continue.
    private mutating func readSize(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Piece? {
        while position < bytes.count {
            let byte = unsafe bytes[position]
            guard let digit = Hexadecimal.value(ofDigit: byte) else {
                guard digits > 0, Self.mayFollowSize(byte) else { return .malformed }
                state = .chunkExtension
                return nil
            }
            guard digits < 16, size <= Int64.max >> 4 else { return .malformed }
            size = size << 4 | Int64(digit)
            digits += 1
            position += 1
        }
        return .more
    }

    /// A line break, or an extension, which white space may precede (RFC 9112 §7.1.1).
    private static func mayFollowSize(_ byte: UInt8) -> Bool {
        byte == 13 || byte == UInt8(ascii: ";") || byte == 32 || byte == 9
    }

    /// Extensions are ignored.
    private mutating func skipExtension(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Piece? {
        while position < bytes.count {
            let isEnd = unsafe isLineEnd(bytes[position])
            guard let isEnd else { return .malformed }
            position += 1
            guard isEnd else { continue }
            state = size > 0 ? .chunk(size) : .trailers
            (size, digits) = (0, 0)
            return nil
        }
        return .more
    }

    private mutating func readChunkEnd(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Piece? {
        guard unsafe isReturnRead || bytes[position] == 13, let isEnd = unsafe isLineEnd(bytes[position]) else {
            return .malformed
        }
        position += 1
        if isEnd { state = .chunkSize }
        return nil
    }

    /// - Returns: whether the byte is the LF after a CR; nil if one occurs without the other.
    private mutating func isLineEnd(_ byte: UInt8) -> Bool? {
        guard isReturnRead == (byte == 10) else { return nil }
        isReturnRead = byte == 13
        return byte == 10
    }
}
