package import HTTPTypes
internal import SallyportBase

/// The answers that a stage wants to see after it has passed the request: ``LoadPassage/passes(watching:as:note:)``.
///
/// An answer that no stage wants to see is returned to the caller at once.
public struct AnswerInterests: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Every answer.
    @inlinable public static var every: AnswerInterests { AnswerInterests(rawValue: 1 << 0) }
    /// 301, 302, 303, 307 and 308.
    @inlinable public static var redirects: AnswerInterests { AnswerInterests(rawValue: 1 << 1) }
    /// 401.
    @inlinable public static var unauthorized: AnswerInterests { AnswerInterests(rawValue: 1 << 2) }
    /// 400 to 499.
    @inlinable public static var clientErrors: AnswerInterests { AnswerInterests(rawValue: 1 << 3) }
    /// 500 to 599.
    @inlinable public static var serverErrors: AnswerInterests { AnswerInterests(rawValue: 1 << 4) }
    /// With `Set-Cookie` among the fields that the server sent now (``LoadAnswer/fieldsSentNow``).
    @inlinable public static var cookies: AnswerInterests { AnswerInterests(rawValue: 1 << 5) }
    /// With `Content-Encoding`.
    @inlinable public static var codings: AnswerInterests { AnswerInterests(rawValue: 1 << 6) }
    /// With a field because of which a cache might store the answer (`Cache-Control`, `ETag`, `Expires`,
    /// `Last-Modified`), and without a plain `no-store`. Never 304, which refers to another answer.
    @inlinable public static var storable: AnswerInterests { AnswerInterests(rawValue: 1 << 7) }

    private static let ofFields: AnswerInterests = [.cookies, .codings, .storable]
}

extension AnswerInterests {
    /// The interests that match a response.
    package init(of response: LoadResponse, among wanted: AnswerInterests) {
        self.init(of: response.head, sentNow: response.facts.sentNow, among: wanted)
    }

    /// - Parameter sent: the fields that the server sent now; nil if they are the head's.
    init(of head: HTTPResponse, sentNow sent: HTTPFields?, among wanted: AnswerInterests) {
        let status = head.status.code
        var found = AnswerInterests(status: status)
        if !wanted.isDisjoint(with: Self.ofFields) {
            found.formUnion(AnswerInterests(fields: head.headerFields, status: status))
            // A stored head contains the cookies of an earlier exchange.
            if let sent {
                found.remove(.cookies)
                if sent.contains(.setCookie) { found.insert(.cookies) }
            }
        }
        self = found.intersection(wanted)
    }

    private init(status code: Int) {
        self =
            switch code {
            case 301, 302, 303, 307, 308: [.every, .redirects]
            case 401: [.every, .unauthorized, .clientErrors]
            case 400..<500: [.every, .clientErrors]
            case 500..<600: [.every, .serverErrors]
            default: .every
            }
    }

    /// Checks each field once, beginning with the length of its name, which excludes most fields.
    package init(fields: HTTPFields, status code: Int) {
        self = []
        var (mayBeStored, isForbidden) = (false, code == 304)
        for field in fields {
            let name = field.name
            switch name.canonicalName.utf8.count {
            case 4: if name == .eTag { mayBeStored = true }
            case 7: if name == .expires { mayBeStored = true }
            case 10: if name == .setCookie { insert(.cookies) }
            case 13:
                if name == .cacheControl {
                    mayBeStored = true
                    if Self.forbidStoring(field.value) { isForbidden = true }
                } else if name == .lastModified {
                    mayBeStored = true
                }
            case 16: if name == .contentEncoding { insert(.codings) }
            default: break
            }
        }
        if mayBeStored, !isForbidden { insert(.storable) }
    }

    /// Whether a line of `Cache-Control` clearly contains `no-store`, so that nothing else in the answer matters:
    /// without a quote that might enclose it, and without `must-understand`, which may override it (RFC 9111 §5.2.2.3).
    package static func forbidStoring(_ line: String) -> Bool {
        if line == "no-store" { return true }
        guard mayNameNoStore(line) else { return false }
        var isFound = false
        for item in line.utf8.split(separator: UInt8(ascii: ",")) {
            let name = Substring(item).trimming { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard name.utf8.count <= 32, !name.utf8.contains(UInt8(ascii: "\"")) else { return false }
            switch name.lowercased() {
            case "no-store": isFound = true
            case "must-understand": return false
            default: break
            }
        }
        return isFound
    }

    /// Whether the text occurs anywhere in the line, in upper or lower case: it does not in most lines, and they need
    /// not be taken apart.
    private static func mayNameNoStore(_ line: String) -> Bool {
        let (bytes, word) = (line.utf8.span, "no-store".utf8.span)
        guard bytes.count >= word.count else { return false }
        for start in 0...(bytes.count - word.count) {
            var count = 0
            while count < word.count, bytes[start + count] | 0x20 == word[count] { count += 1 }
            if count == word.count { return true }
        }
        return false
    }
}
