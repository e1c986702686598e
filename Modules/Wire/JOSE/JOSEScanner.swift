/// Reads JSON text from the front (RFC 8259), for ``JOSEObject``.
struct JOSEScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether only white space is left.
    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position == bytes.count
        }
    }

    mutating func value(depth: Int) throws(WireError) -> JOSEObject.Value {
        skipSpace()
        switch current {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    // MARK: Objects and arrays

    private mutating func object(depth: Int) throws(WireError) -> JOSEObject {
        try checkDepth(depth)
        position += 1
        var object = JOSEObject()
        skipSpace()
        if take("}") { return object }
        while true {
            skipSpace()
            let name = try string()
            skipSpace()
            guard take(":") else { throw malformed }
            try object.add(name, try value(depth: depth + 1))
            skipSpace()
            if take("}") { return object }
            guard take(",") else { throw malformed }
        }
    }

    private mutating func array(depth: Int) throws(WireError) -> [JOSEObject.Value] {
        try checkDepth(depth)
        position += 1
        var elements: [JOSEObject.Value] = []
        skipSpace()
        if take("]") { return elements }
        while true {
            guard elements.count < JOSEObject.Limits.elements else {
                throw WireError(.tooLarge, "An array has at most \(JOSEObject.Limits.elements) elements.")
            }
            elements.append(try value(depth: depth + 1))
            skipSpace()
            if take("]") { return elements }
            guard take(",") else { throw malformed }
        }
    }

    private func checkDepth(_ depth: Int) throws(WireError) {
        guard depth <= JOSEObject.Limits.depth else {
            throw WireError(.tooLarge, "The JSON nests deeper than \(JOSEObject.Limits.depth).")
        }
    }

    // MARK: Numbers and words

    private mutating func number() throws(WireError) -> JOSEObject.Value {
        let start = position
        let isNegative = take("-")
        let digits = skipDigits()
        guard digits > 0, digits == 1 || bytes[position - digits] != UInt8(ascii: "0") else { throw malformed }
        var isInteger = digits <= 18 && !(isNegative && bytes[position - 1] == UInt8(ascii: "0") && digits == 1)
        if take(".") {
            guard skipDigits() > 0 else { throw malformed }
            isInteger = false
        }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            guard skipDigits() > 0 else { throw malformed }
            isInteger = false
        }
        guard isInteger else {
            // Other readers refuse numbers that do not fit into a `Double`.
            let text = String(decoding: bytes[start..<position], as: UTF8.self)
            guard let value = Double(text), value.isFinite else { throw malformed }
            return .number
        }
        let value = bytes[start..<position].reduce(into: Int64(0)) { value, byte in
            if byte != UInt8(ascii: "-") { value = value * 10 + Int64(byte - UInt8(ascii: "0")) }
        }
        return .integer(isNegative ? -value : value)
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(current) { position += 1 }
        return position - start
    }

    private mutating func word(
        _ text: StaticString, _ value: JOSEObject.Value
    ) throws(WireError) -> JOSEObject.Value {
        for byte in "\(text)".utf8 {
            guard current == byte else { throw malformed }
            position += 1
        }
        return value
    }

    // MARK: Bytes

    /// The current byte; 0, which JSON never contains outside strings, at the end.
    private var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard current == UInt8(ascii: character), position < bytes.count else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while true {
            switch current {
            case 0x20, 0x0a, 0x0d, 0x09: position += 1
            default: return
            }
        }
    }

    private var malformed: WireError { WireError(.malformed, "The text is not JSON.") }
}

// MARK: Texts

extension JOSEScanner {
    private mutating func string() throws(WireError) -> String {
        guard take("\"") else { throw malformed }
        let start = position
        while position < bytes.count, current >= 0x20, current != UInt8(ascii: "\""), current != UInt8(ascii: "\\") {
            position += 1
        }
        // Most strings have no escapes.
        if current == UInt8(ascii: "\"") {
            defer { position += 1 }
            return try text(bytes[start..<position])
        }
        return try escaped(bytes[start..<position])
    }

    private mutating func escaped(_ beginning: ArraySlice<UInt8>) throws(WireError) -> String {
        var unescaped = Array(beginning)
        while position < bytes.count {
            let byte = current
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try text(unescaped[...])
            case UInt8(ascii: "\\"): try unescape(into: &unescaped)
            case ..<0x20: throw malformed
            default: unescaped.append(byte)
            }
        }
        throw malformed
    }

    private mutating func unescape(into unescaped: inout [UInt8]) throws(WireError) {
        let byte = current
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(byte)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0c)
        case UInt8(ascii: "n"): unescaped.append(0x0a)
        case UInt8(ascii: "r"): unescaped.append(0x0d)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"): unescaped.append(contentsOf: String(Character(try scalar())).utf8)
        default: throw malformed
        }
    }

    /// The code point after `\u`: one escape, or two for a surrogate pair.
    private mutating func scalar() throws(WireError) -> Unicode.Scalar {
        let first = try unit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), take("\\"), take("u") else { throw malformed }
        let second = try unit()
        guard UTF16.isTrailSurrogate(second) else { throw malformed }
        let value = 0x1_0000 + (UInt32(first) - 0xd800) << 10 + (UInt32(second) - 0xdc00)
        guard let scalar = Unicode.Scalar(value) else { throw malformed }
        return scalar
    }

    private mutating func unit() throws(WireError) -> UInt16 {
        guard bytes.count - position >= 4 else { throw malformed }
        var value: UInt16 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else { throw malformed }
            value = value << 4 | UInt16(digit)
        }
        position += 4
        return value
    }

    private func text(_ bytes: ArraySlice<UInt8>) throws(WireError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw WireError(.malformed, "A text is not UTF-8.")
        }
        return text
    }
}
