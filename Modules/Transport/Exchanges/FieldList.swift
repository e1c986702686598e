internal import HTTPTypes

/// The fields of a header block, as they are read.
struct FieldList {
    private var list = HTTPFields()
    /// The value of the last field, if it is folded: made a field once all of it is there, however many lines it has.
    private var folded: [UInt8]?

    var isEmpty: Bool { list.isEmpty }

    var fields: HTTPFields {
        guard folded != nil else { return list }
        var list = self
        list.endFold()
        return list.list
    }

    mutating func append(_ field: HTTPField) {
        if folded != nil { endFold() }
        if list.isEmpty { list.reserveCapacity(16) }
        list.append(field)
    }

    /// Adds a line to the value of the last field. The line break becomes white space (RFC 9112 §5.2).
    mutating func fold(_ line: UnsafeRawBufferPointer) {
        guard let last = list.last else { return }
        var value = unsafe folded.take() ?? last.withUnsafeBytesOfValue { unsafe Array($0) }
        value += [32, 32]
        unsafe value.append(contentsOf: line)
        folded = value
    }

    private mutating func endFold() {
        guard let value = folded.take() else { return }
        let end = value.lastIndex { $0 != 32 && $0 != 9 }.map { $0 + 1 } ?? 0
        let last = list.endIndex - 1
        list[last] = HTTPField(name: list[last].name, lenientValue: value[..<end])
    }

    mutating func removeAll() { self = FieldList() }
}
