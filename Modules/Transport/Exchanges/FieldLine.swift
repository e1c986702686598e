internal import HTTPTypes

/// A line `name: value` (RFC 9112 §5).
enum FieldLine {
    typealias Parts = (field: HTTPField, role: FieldNames.Role, value: Range<Int>)

    /// Reads a line in one pass.
    ///
    /// - Parameter line: without its line break.
    /// - Returns: the field, and the place of its value in the line, without surrounding white space. Nil for a line
    ///   that readers may understand differently: without a name, with white space between name and colon, with CR or
    ///   NUL.
    static func read(_ line: UnsafeRawBufferPointer) -> Parts? {
        guard let colon = unsafe line.firstPosition(of: UInt8(ascii: ":"), from: 0),
            let (name, role) = unsafe FieldNames.find(UnsafeRawBufferPointer(rebasing: line[..<colon]))
        else { return nil }
        let range = unsafe line.trimmed(colon + 1..<line.count)
        let value = unsafe UnsafeRawBufferPointer(rebasing: line[range])
        // Most values are printable ASCII: their strings are created without checking each byte again.
        if unsafe value.isPlain {
            return (unsafe HTTPField(name: name, value: String(decoding: value, as: UTF8.self)), role, range)
        }
        guard unsafe !value.hasControl else { return nil }
        return (unsafe HTTPField(name: name, lenientValue: Array(value)), role, range)
    }
}
