internal import HTTPTypes

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
    /// Those of the fields, if it remembers.
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
        // The field is now of more lines than this one.
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
