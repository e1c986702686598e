internal import HTTPTypes

/// The names of fields in answers. Those that most answers have are made once: making one checks and folds its letters.
enum FieldNames {
    /// Nil for what is no name (RFC 9110 §5.1).
    static func name(of octets: UnsafeBufferPointer<UInt8>) -> HTTPField.Name? {
        if octets.count < known.count {
            for name in known[octets.count] where unsafe isEqual(name.octets, octets) { return name.name }
        }
        return unsafe HTTPField.Name(String(decoding: octets, as: UTF8.self))
    }

    /// - Parameter name: as long as the bytes.
    private static func isEqual(_ name: [UInt8], _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count {
            if unsafe name[index] != bytes[index] { return false }
            index += 1
        }
        return true
    }

    private struct Known {
        let octets: [UInt8]
        let name: HTTPField.Name
    }

    /// By the count of their bytes.
    private static let known: [[Known]] = {
        var known: [[Known]] = Array(repeating: [], count: 28)
        for text in common + common.map({ $0.lowercased() }) {
            guard let name = HTTPField.Name(text) else { continue }
            known[text.utf8.count].append(Known(octets: Array(text.utf8), name: name))
        }
        return known
    }()

    /// As they are mostly written; with HTTP/2 in lower case.
    private static let common = [
        "Age", "Date", "ETag", "Vary", "Server", "Expires", "Location", "Set-Cookie", "Connection", "Keep-Alive",
        "Content-Type", "Accept-Ranges", "Cache-Control", "Last-Modified", "Content-Length", "Content-Encoding",
        "WWW-Authenticate", "Transfer-Encoding",
    ]
}
