internal import FoundationEssentials

/// One cookie as JSON. Name, value and path that are not UTF-8 are base64 in fields of their own.
struct CookieDocument: Codable {
    var name: String?
    var nameBase64: Data?
    var value: String?
    var valueBase64: Data?
    var domain: String
    var includesSubdomains: Bool?
    var path: String?
    var pathBase64: Data?
    /// ISO 8601; absent if the cookie ends with the process.
    var expires: String?
    var secure: Bool?
    var httpOnly: Bool?
    var sameSite: SameSite?

    init(_ cookie: Cookie) {
        (name, nameBase64) = Self.text(Array(cookie.entry.name))
        (value, valueBase64) = Self.text(Array(cookie.entry.value))
        (path, pathBase64) = Self.text(cookie.entry.path)
        domain = cookie.domain
        includesSubdomains = cookie.includesSubdomains
        // The style truncates to milliseconds, and a binary fraction may be slightly too low.
        expires = cookie.expires?.addingTimeInterval(0.0002).formatted(Self.dates)
        secure = cookie.isSecure
        httpOnly = cookie.isHTTPOnly
        sameSite = cookie.sameSite
    }

    private static let dates = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func text(_ bytes: [UInt8]) -> (String?, Data?) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return (nil, Data(bytes)) }
        return (text, nil)
    }

    private static func bytes(_ text: String?, _ base64: Data?, default: String) -> [UInt8] {
        base64.map { Array($0) } ?? Array((text ?? `default`).utf8)
    }

    private func cookie() throws(CookieError) -> Cookie {
        try Cookie(
            name: Self.bytes(name, nameBase64, default: ""), value: Self.bytes(value, valueBase64, default: ""),
            domain: domain, includesSubdomains: includesSubdomains ?? false,
            path: Self.bytes(path, pathBase64, default: "/"), expires: try Self.date(expires),
            isSecure: secure ?? false, isHTTPOnly: httpOnly ?? false, sameSite: sameSite ?? .default)
    }

    private static func date(_ text: String?) throws(CookieError) -> Date? {
        guard let text else { return nil }
        let styles = [dates, Date.ISO8601FormatStyle()]
        guard let date = styles.lazy.compactMap({ try? Date(text, strategy: $0) }).first else {
            throw CookieError(.invalidFile, "Its time is not ISO 8601.")
        }
        return date
    }

    // MARK: Files

    static func cookies(in file: [UInt8]) throws(CookieError) -> [Cookie] {
        let documents: [CookieDocument]
        do {
            documents = try JSONDecoder().decode([CookieDocument].self, from: Data(file))
        } catch {
            throw CookieError(.invalidFile, fault(in: error))
        }
        var cookies: [Cookie] = []
        for (index, document) in documents.enumerated() {
            do throws(CookieError) {
                cookies.append(try document.cookie())
            } catch {
                throw CookieError(
                    .invalidFile, "Entry \(index + 1) is no cookie: \(error.message)", underlying: error.underlying)
            }
        }
        return cookies
    }

    /// What is wrong with a file, without its content, which the decoder's error might quote.
    private static func fault(in error: any Error) -> String {
        let (path, missing): ([any CodingKey], String?)
        switch error as? DecodingError {
        case .keyNotFound(let key, let context): (path, missing) = (context.codingPath, key.stringValue)
        case .typeMismatch(_, let context), .valueNotFound(_, let context): (path, missing) = (context.codingPath, nil)
        case .dataCorrupted(let context) where !context.codingPath.isEmpty: (path, missing) = (context.codingPath, nil)
        default: return "The file is not JSON."
        }
        guard let index = path.first?.intValue else { return "The file is not an array of cookies." }
        let member = path.dropFirst().last?.stringValue
        let wrong = member.map { "its '\($0)' is not valid" } ?? "it is no object"
        let fault = missing.map { "it has no '\($0)'" } ?? wrong
        return "Entry \(index + 1) is no cookie: \(fault)."
    }

    static func file(of cookies: [Cookie]) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        // No value of a cookie can make the encoder fail.
        return (try? encoder.encode(cookies.map(CookieDocument.init))).map { Array($0) + [UInt8(ascii: "\n")] } ?? []
    }
}
