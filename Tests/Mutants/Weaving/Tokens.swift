/// Words and punctuation of a source in Swift or C; comments and the contents of literals are skipped.
struct Tokens: Sequence, IteratorProtocol {
    enum Token: Equatable {
        case word(String)
        case mark(UInt8)
        case literal
    }

    private let bytes: [UInt8]
    private let isC: Bool
    /// The position after the last token.
    private(set) var position: Int

    init(_ bytes: [UInt8], isC: Bool, from position: Int = 0) {
        (self.bytes, self.isC, self.position) = (bytes, isC, position)
    }

    mutating func next() -> Token? {
        skipBlanks()
        guard let byte = peek() else { return nil }
        if Self.isOfWord(byte) { return .word(word()) }
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "#"), skipString() { return .literal }
        if isC, byte == UInt8(ascii: "'") {
            skipCharacter()
            return .literal
        }
        position += 1
        return .mark(byte)
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    private func stands(_ text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    private mutating func word() -> String {
        let start = position
        while let byte = peek(), Self.isOfWord(byte) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func skipBlanks() {
        while let byte = peek() {
            if byte <= 32 {
                position += 1
            } else if stands("//") {
                while let byte = peek(), byte != UInt8(ascii: "\n") { position += 1 }
            } else if stands("/*") {
                skipComment()
            } else {
                return
            }
        }
    }

    /// In Swift, comments nest.
    private mutating func skipComment() {
        var depth = 0
        repeat {
            if stands("/*"), depth == 0 || !isC {
                depth += 1
                position += 2
            } else if stands("*/") {
                depth -= 1
                position += 2
            } else {
                position += 1
            }
        } while depth > 0 && position < bytes.count
    }

    private mutating func skipCharacter() {
        position += 1
        while let byte = peek(), byte != UInt8(ascii: "'") { position += byte == UInt8(ascii: "\\") ? 2 : 1 }
        position += 1
    }

    /// Skips a string if one begins here, with its interpolations. Returns whether one did.
    private mutating func skipString() -> Bool {
        var hashes = 0
        while peek(hashes) == UInt8(ascii: "#") { hashes += 1 }
        guard peek(hashes) == UInt8(ascii: "\"") else { return false }
        position += hashes
        let quote = !isC && stands("\"\"\"") ? "\"\"\"" : "\""
        let end = quote + String(repeating: "#", count: hashes)
        let escape = "\\" + String(repeating: "#", count: hashes)
        position += quote.utf8.count
        while position < bytes.count, !stands(end) {
            guard stands(escape) else {
                position += 1
                continue
            }
            position += escape.utf8.count
            if peek() == UInt8(ascii: "("), !isC { skipInterpolation() } else { position += 1 }
        }
        position += end.utf8.count
        return true
    }

    private mutating func skipInterpolation() {
        var inner = Tokens(bytes, isC: false, from: position)
        var depth = 0
        repeat {
            switch inner.next() {
            case .mark(UInt8(ascii: "(")): depth += 1
            case .mark(UInt8(ascii: ")")): depth -= 1
            case nil: depth = 0
            default: break
            }
        } while depth > 0
        position = inner.position
    }
}
