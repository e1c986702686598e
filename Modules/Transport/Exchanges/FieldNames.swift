internal import HTTPTypes

/// The names of fields in answers. Common names are created once: creating one checks and folds its letters.
enum FieldNames {
    /// The meaning of a field for the exchange itself.
    enum Role {
        case plain, connection, contentLength, transferEncoding
        /// Not kept longer than its exchange.
        case secret

        /// Whether it determines how the body ends.
        var framesBody: Bool { self == .contentLength || self == .transferEncoding }
    }

    private struct Known {
        let name: HTTPField.Name
        let role: Role
        let bytes: [UInt8]
    }

    /// Nil if it is not a valid name (RFC 9110 §5.1).
    static func find(_ bytes: UnsafeRawBufferPointer) -> (name: HTTPField.Name, role: Role)? {
        if bytes.count < known.count {
            for name in known[bytes.count] where unsafe isEqual(name.bytes, bytes) { return (name.name, name.role) }
        }
        return unsafe HTTPField.Name(String(decoding: bytes, as: UTF8.self)).map { ($0, role(of: $0)) }
    }

    private static func role(of name: HTTPField.Name) -> Role {
        switch name {
        case .connection: .connection
        case .contentLength: .contentLength
        case .transferEncoding: .transferEncoding
        case .setCookie, .wwwAuthenticate, .authenticationInfo: .secret
        default: .plain
        }
    }

    /// - Parameter name: as long as the bytes.
    private static func isEqual(_ name: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if unsafe name[index] != bytes[index] { return false }
            index += 1
        }
        return true
    }

    /// By their length.
    private static let known: [[Known]] = {
        var known: [[Known]] = Array(repeating: [], count: 28)
        for text in common + common.map({ $0.lowercased() }) {
            guard let name = HTTPField.Name(text) else { continue }
            known[text.utf8.count].append(Known(name: name, role: role(of: name), bytes: Array(text.utf8)))
        }
        return known
    }()

    /// In their usual spelling; in lower case for HTTP/2.
    private static let common = [
        "Age", "Date", "ETag", "Vary", "Server", "Expires", "Location", "Set-Cookie", "Connection", "Keep-Alive",
        "Content-Type", "Accept-Ranges", "Cache-Control", "Last-Modified", "Content-Length", "Content-Encoding",
        "WWW-Authenticate", "Transfer-Encoding",
    ]
}
