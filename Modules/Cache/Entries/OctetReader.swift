/// Reads what ``OctetWriter`` wrote. Every read may find less than it wants, and says so with nil.
struct OctetReader {
    private let octets: [UInt8]
    private var offset: Int
    private let end: Int

    init(_ octets: [UInt8]) { self.init(octets, octets.indices) }

    /// - Parameter range: which of the octets are read.
    init(_ octets: [UInt8], _ range: Range<Int>) {
        self.octets = octets
        offset = range.lowerBound
        end = range.upperBound
    }

    var remaining: Int { end - offset }

    mutating func number(_ length: Int) -> UInt64? {
        guard remaining >= length else { return nil }
        var value: UInt64 = 0
        for index in offset..<(offset + length) { value = value << 8 | UInt64(octets[index]) }
        offset += length
        return value
    }

    mutating func byte() -> UInt8? { number(1).map(UInt8.init(truncatingIfNeeded:)) }

    mutating func signed() -> Int64? { number(8).map(Int64.init(bitPattern:)) }

    /// Text behind its length, which has `width` octets.
    mutating func text(_ width: Int) -> String? {
        guard let length = number(width).flatMap(Int.init(exactly:)), remaining >= length else { return nil }
        defer { offset += length }
        return String(decoding: octets[offset..<(offset + length)], as: UTF8.self)
    }
}

struct OctetWriter {
    private(set) var octets: [UInt8]

    /// - Parameter octets: what stands before.
    init(_ octets: [UInt8] = []) { self.octets = octets }

    mutating func number(_ value: UInt64, _ length: Int) {
        for index in (0..<length).reversed() { octets.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
    }

    mutating func signed(_ value: Int64) { number(UInt64(bitPattern: value), 8) }

    /// - Parameter width: of the length that stands before; a longer text is cut.
    mutating func text(_ text: String, _ width: Int) {
        let octets = Array(text.utf8.prefix((1 << (8 * width)) - 1))
        number(UInt64(octets.count), width)
        self.octets += octets
    }
}
