/// Reads numbers in the machine's byte order from a range of bytes, as the kernel lays out its structures. Every read
/// may find fewer bytes than it needs, and returns nil then.
struct HostOrderReader {
    private let bytes: [UInt8]
    private(set) var offset: Int
    let end: Int

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        offset = range.lowerBound
        end = range.upperBound
    }

    var remaining: Int { end - offset }

    mutating func byte() -> UInt8? { number(1).map(UInt8.init(truncatingIfNeeded:)) }
    mutating func number16() -> UInt16? { number(2).map(UInt16.init(truncatingIfNeeded:)) }
    mutating func number32() -> UInt32? { number(4) }

    private mutating func number(_ length: Int) -> UInt32? {
        guard remaining >= length else { return nil }
        defer { offset += length }
        var value: UInt32 = 0
        for index in 0..<length {
            #if _endian(little)
            value |= UInt32(bytes[offset + index]) << UInt32(8 * index)
            #else
            value = value << 8 | UInt32(bytes[offset + index])
            #endif
        }
        return value
    }

    /// - Returns: false if there are not enough bytes.
    mutating func skip(_ count: Int) -> Bool {
        guard remaining >= count else { return false }
        offset += count
        return true
    }

    /// The remaining bytes.
    var rest: ArraySlice<UInt8> { bytes[offset..<end] }

    /// The next attribute (`struct rtattr`), aligned to 4 bytes; nil at the end, and if the rest is not an attribute.
    mutating func attribute() -> NetlinkAttribute? {
        let start = offset
        guard let length = number16().map(Int.init), let type = number16(), length >= 4, start + length <= end else {
            offset = end
            return nil
        }
        defer { offset = min(end, start + (length + 3) & ~3) }
        // The two highest bits describe the encoding of the value.
        return NetlinkAttribute(type: type & 0x3fff, bytes: bytes, range: (start + 4)..<(start + length))
    }
}

/// A value in a message, after its type.
struct NetlinkAttribute {
    let type: UInt16
    let bytes: [UInt8]
    let range: Range<Int>

    var reader: HostOrderReader { HostOrderReader(bytes, range) }
    var value: [UInt8] { Array(bytes[range]) }

    var number: UInt32? {
        var reader = reader
        return reader.number32()
    }

    /// Text up to its final zero; nil if it is not UTF-8.
    var text: String? { String(validating: bytes[range].prefix { $0 != 0 }, as: UTF8.self) }
}
