/// Reads numbers, texts and length-prefixed bytes that ``ByteWriter`` has written: the modules' formats in the store.
///
/// Numbers are big-endian. Every read may find fewer bytes than it needs, and returns nil then.
package struct ByteReader {
    private let bytes: [UInt8]
    private var offset: Int
    private let end: Int

    package init(_ bytes: [UInt8]) { self.init(bytes, bytes.indices) }

    /// - Parameter range: which of the bytes are read.
    package init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        offset = range.lowerBound
        end = range.upperBound
    }

    package var remaining: Int { end - offset }

    /// - Parameter length: in bytes, at most 8.
    package mutating func number(_ length: Int) -> UInt64? {
        guard remaining >= length else { return nil }
        var value: UInt64 = 0
        for index in offset..<(offset + length) { value = value << 8 | UInt64(bytes[index]) }
        offset += length
        return value
    }

    package mutating func byte() -> UInt8? { number(1).map(UInt8.init(truncatingIfNeeded:)) }

    package mutating func signed() -> Int64? { number(8).map(Int64.init(bitPattern:)) }

    /// Reads bytes that follow their length, which takes `width` bytes.
    package mutating func part(_ width: Int) -> ArraySlice<UInt8>? { place(width).map { bytes[$0] } }

    /// Reads text that follows its length; nil if it is not valid UTF-8.
    package mutating func text(_ width: Int) -> String? {
        guard let place = place(width) else { return nil }
        do {
            return String(copying: try UTF8Span(validating: bytes.span.extracting(place)))
        } catch {
            return nil
        }
    }

    private mutating func place(_ width: Int) -> Range<Int>? {
        guard let length = number(width).flatMap(Int.init(exactly:)), remaining >= length else { return nil }
        defer { offset += length }
        return offset..<(offset + length)
    }
}

/// Writes what ``ByteReader`` reads.
package struct ByteWriter {
    package private(set) var bytes: [UInt8]

    /// - Parameter bytes: the bytes to begin with.
    package init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    package mutating func number(_ value: UInt64, _ length: Int) {
        for index in (0..<length).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
    }

    package mutating func signed(_ value: Int64) { number(UInt64(bitPattern: value), 8) }

    /// - Parameter width: the number of bytes of the length; a part that is too long for it is cut.
    package mutating func part(_ part: some Collection<UInt8>, _ width: Int) {
        let part = part.prefix((1 << (8 * width)) - 1)
        number(UInt64(part.count), width)
        bytes += part
    }

    /// - Parameter width: as in ``part(_:_:)``.
    package mutating func text(_ text: String, _ width: Int) { part(text.utf8, width) }
}
