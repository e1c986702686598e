internal import HTTPTypes

/// A line `name: value` (RFC 9112 §5), read in one pass.
struct FieldLine {
    let field: HTTPField
    let role: FieldNames.Role
    /// Where the value stands in the line, without the white space around it.
    let value: Range<Int>

    /// - Parameter line: without its line break.
    /// - Returns: nil for what some reader might take for something else: without a name, with white space between name and
    ///   colon, with CR or NUL.
    init?(_ line: UnsafeRawBufferPointer) {
        guard let colon = unsafe line.firstPosition(of: UInt8(ascii: ":"), from: 0),
            let known = unsafe FieldNames.find(UnsafeRawBufferPointer(rebasing: line[..<colon]))
        else { return nil }
        value = unsafe line.trimmed(colon + 1..<line.count)
        role = known.role
        let value = unsafe UnsafeRawBufferPointer(rebasing: line[self.value])
        // Most values are printable ASCII: a string is made of them without the check of each byte for what is kept of others.
        if unsafe value.isPlain {
            field = unsafe HTTPField(name: known.name, value: String(decoding: value, as: UTF8.self))
        } else {
            guard unsafe !value.hasControl else { return nil }
            field = unsafe HTTPField(name: known.name, lenientValue: Array(value))
        }
    }
}
