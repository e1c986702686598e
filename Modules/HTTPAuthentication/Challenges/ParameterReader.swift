internal import SallyportBase

/// A parameter of a challenge: `name = value` (RFC 9110 §11.2).
struct Parameter: Equatable {
    /// In lower case.
    var name: String
    var value: String
}

/// Splits a field at the commas outside quoted strings (RFC 9110 §5.6.1).
struct ElementScanner {
    private var rest: Substring.UTF8View

    init(_ field: String) { rest = field[...].utf8 }

    /// The next element without surrounding blanks; empty ones are skipped.
    mutating func next() -> Substring.UTF8View? {
        while !rest.isEmpty {
            let element = Self.trimmed(cut())
            if !element.isEmpty { return element }
        }
        return nil
    }

    private mutating func cut() -> Substring.UTF8View {
        var (isQuoted, isEscaped) = (false, false)
        let end = rest.firstIndex { byte in
            defer { isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\") }
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            return byte == UInt8(ascii: ",") && !isQuoted
        }
        guard let end else {
            defer { rest = rest[rest.endIndex...] }
            return rest
        }
        defer { rest = rest[rest.index(after: end)...] }
        return rest[..<end]
    }

    private static func trimmed(_ element: Substring.UTF8View) -> Substring.UTF8View {
        var element = element.drop(while: ParameterReader.isBlank)
        while let last = element.last, ParameterReader.isBlank(last) { element.removeLast() }
        return element
    }
}

/// Reads tokens, quoted strings and parameters from the front of an element.
struct ParameterReader {
    private var rest: Substring.UTF8View

    init(_ element: Substring.UTF8View) { rest = element }

    var isAtEnd: Bool { rest.isEmpty }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

    /// - Returns: whether there were any.
    @discardableResult
    mutating func skipBlanks() -> Bool {
        let before = rest.count
        rest = rest.drop(while: Self.isBlank)
        return rest.count < before
    }

    /// RFC 9110 §5.6.2.
    mutating func token() -> String? { take(while: HTTPToken.mayContain) }

    /// Letters, digits and `-._~+/`, then any number of `=`, and nothing else (RFC 9110 §11.2).
    mutating func token68() -> String? {
        let data = rest.prefix(while: Self.isToken68Byte)
        let padding = rest[data.endIndex...]
        guard !data.isEmpty, padding.allSatisfy({ $0 == UInt8(ascii: "=") }) else { return nil }
        defer { rest = rest[rest.endIndex...] }
        return String(Substring(rest))
    }

    /// `name = value`, where the value is a token or a quoted string; nil if there is something else.
    mutating func parameter() -> Parameter? {
        guard let name = token() else { return nil }
        skipBlanks()
        guard rest.first == UInt8(ascii: "=") else { return nil }
        rest.removeFirst()
        skipBlanks()
        let value = rest.first == UInt8(ascii: "\"") ? quotedString() : token()
        guard let value else { return nil }
        skipBlanks()
        return Parameter(name: name.lowercased(), value: value)
    }

    /// RFC 9110 §5.6.4; nil if it is not terminated.
    private mutating func quotedString() -> String? {
        rest.removeFirst()
        var (bytes, isEscaped) = ([UInt8](), false)
        while let byte = rest.popFirst() {
            if isEscaped || (byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "\"")) {
                bytes.append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
        return nil
    }

    private mutating func take(while isPart: (UInt8) -> Bool) -> String? {
        let part = rest.prefix(while: isPart)
        guard !part.isEmpty else { return nil }
        rest = rest[part.endIndex...]
        return String(Substring(part))
    }

    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "-._~+/".utf8.contains(byte)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
