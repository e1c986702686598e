internal import Glibc

// Helpers for parsing header blocks. Positions count from the buffer's beginning.
extension UnsafeRawBufferPointer {
    func firstPosition(of byte: UInt8, from start: Int) -> Int? {
        guard start < count, let base = baseAddress, let found = unsafe memchr(base + start, Int32(byte), count - start)
        else { return nil }
        return unsafe UnsafeRawPointer(found) - base
    }

    /// The position after the next LF.
    func lineEnd(from start: Int) -> Int? { unsafe firstPosition(of: 10, from: start).map { $0 + 1 } }

    /// A line without its CR LF, or its LF.
    var withoutLineBreak: UnsafeRawBufferPointer {
        var end = count
        if unsafe end > 0 && self[end - 1] == 10 { end -= 1 }
        if unsafe end > 0 && self[end - 1] == 13 { end -= 1 }
        return unsafe UnsafeRawBufferPointer(rebasing: self[..<end])
    }

    /// Whether a line begins with white space.
    var isFolded: Bool { unsafe !isEmpty && Self.isBlank(self[0]) }

    /// Without surrounding spaces and tabs.
    var trimmed: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: self[trimmed(0..<count)]) }

    /// - Returns: the range without the spaces and tabs at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, unsafe Self.isBlank(self[start]) { start += 1 }
        while end > start, unsafe Self.isBlank(self[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

    /// Whether it contains NUL or CR, which readers interpret differently.
    var hasControl: Bool { unsafe contains { $0 == 0 || $0 == 13 } }

    /// Whether all bytes are printable ASCII; checked word by word.
    var isPlain: Bool {
        var position = 0
        while position + 8 <= count {
            let word = unsafe loadUnaligned(fromByteOffset: position, as: UInt64.self)
            // A high bit is set by the byte itself, by the borrow of a byte below the space, or by the carry of DEL.
            let signs = word | (word &- 0x2020_2020_2020_2020) | (word &+ 0x0101_0101_0101_0101)
            if signs & 0x8080_8080_8080_8080 != 0 { return false }
            position += 8
        }
        while position < count {
            if unsafe self[position] &- 32 >= 95 { return false }
            position += 1
        }
        return true
    }

    func isEqual(to bytes: [UInt8]) -> Bool {
        guard count == bytes.count, let base = baseAddress else { return false }
        return unsafe memcmp(base, bytes, count) == 0
    }

    func begins(with text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount, let base = baseAddress else { return false }
        return unsafe memcmp(base, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// - Parameter text: in lower case, of letters and hyphens.
    func isEqual(toLowercase text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for position in 0..<count where unsafe self[position] | 0x20 != text.utf8Start[position] { return false }
        return true
    }

    /// A decimal number of 1 to 19 digits.
    func number(in range: Range<Int>) -> Int64? {
        guard !range.isEmpty, range.count <= 19 else { return nil }
        var number: UInt64 = 0
        for position in range {
            let digit = unsafe self[position] &- 48
            guard digit <= 9 else { return nil }
            number = number &* 10 &+ UInt64(digit)
        }
        return Int64(exactly: number)
    }

    /// - Returns: whether `take` returned true for each element of a list. An empty value has one, which is empty.
    @discardableResult
    func forEachElement(_ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        var start = 0
        while let comma = unsafe firstPosition(of: UInt8(ascii: ","), from: start) {
            guard unsafe take(UnsafeRawBufferPointer(rebasing: self[start..<comma]).trimmed) else { return false }
            start = comma + 1
        }
        return unsafe take(UnsafeRawBufferPointer(rebasing: self[start...]).trimmed)
    }
}
