/// A line that is typed without being shown, key by key, as a terminal hands them on that makes nothing of them itself.
struct PasswordLine {
    /// Of a password, in bytes.
    static let limit = 4096

    enum End: Equatable {
        case entered(String)
        /// Ctrl-C.
        case interrupted
        /// Ctrl-D on an empty line, or what is no text.
        case none
    }

    private var bytes: [UInt8] = []

    /// - Returns: nil while the line goes on.
    mutating func take(_ key: UInt8) -> End? {
        switch key {
        case 0x03: return .interrupted
        case 0x0a, 0x0d: return String(validating: bytes, as: UTF8.self).map { .entered($0) } ?? End.none
        case 0x04 where bytes.isEmpty: return End.none
        case 0x04: break
        case 0x08, 0x7f: removeLast()
        case 0x15: bytes = []
        default: if bytes.count < Self.limit { bytes.append(key) }
        }
        return nil
    }

    /// A character of UTF-8 goes with all of its bytes.
    private mutating func removeLast() {
        while let last = bytes.popLast(), last & 0xc0 == 0x80 {}
    }
}
