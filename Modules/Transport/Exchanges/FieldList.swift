internal import HTTPTypes

/// The fields of a header block on their way into `HTTPFields`, which copies each that is added alone twice.
struct FieldList {
    private var list: [HTTPField] = []
    /// The value of the last field, if it is folded: made a field once all of it is there, however many lines it has.
    private var folded: [UInt8]?

    var isEmpty: Bool { list.isEmpty }

    var fields: HTTPFields {
        var list = self
        list.endFold()
        var fields = HTTPFields()
        fields.reserveCapacity(list.list.count)
        fields.replaceSubrange(fields.startIndex..<fields.startIndex, with: list.list)
        return fields
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
        guard let value = folded.take(), let last = list.popLast() else { return }
        let end = value.lastIndex { $0 != 32 && $0 != 9 }.map { $0 + 1 } ?? 0
        list.append(HTTPField(name: last.name, lenientValue: value[..<end]))
    }

    mutating func removeAll() {
        list.removeAll(keepingCapacity: true)
        folded = nil
    }
}
