internal import HTTPTypes

/// Names of fields that a record contains as one byte: creating a name from its text checks and folds each letter.
enum StoredName {
    /// Stands before a name that is spelled out.
    static let spelled: UInt8 = 0

    static func code(of name: HTTPField.Name) -> UInt8? { codes[name.rawName] }

    /// Nil if the code stands for no name.
    static func name(of code: UInt8) -> HTTPField.Name? {
        code > 0 && code <= names.count ? names[Int(code) - 1] : nil
    }

    /// A code is the place in this list, from 1: names are only added at the end.
    private static let names: [HTTPField.Name] = [
        "Age", "Date", "ETag", "Vary", "Server", "Expires", "Location", "Content-Type", "Accept-Ranges",
        "Cache-Control", "Last-Modified", "Content-Length", "Content-Encoding", "Content-Language", "Content-Range",
        "Content-Disposition", "Content-Location", "Content-Security-Policy", "Strict-Transport-Security",
        "X-Content-Type-Options", "Access-Control-Allow-Origin", "Link", "Via",
    ].flatMap { [HTTPField.Name($0), HTTPField.Name($0.lowercased())].compactMap(\.self) }

    private static let codes = Dictionary(
        uniqueKeysWithValues: names.enumerated().map { ($1.rawName, UInt8($0 + 1)) })
}
