/// How cookies are written down for others.
public enum CookieFileFormat: String, Sendable, Hashable, CaseIterable {
    /// Lines of seven fields between tabs, as curl, wget and browsers' tools read and write them. Knows no `SameSite`,
    /// and times to the second.
    case netscape
    /// An array of objects; see Docs/Cookies.md for their fields. Loses nothing but the times of creation and use.
    case json

    /// - Throws: `invalidFile` for the first line or entry that is none; `tooLarge`.
    func cookies(in file: [UInt8]) throws(CookieError) -> [Cookie] {
        guard file.count <= CookieJar.maximumFileLength else {
            throw CookieError(.tooLarge, "A cookie file has at most \(CookieJar.maximumFileLength) bytes.")
        }
        let cookies =
            switch self {
            case .netscape: try NetscapeFile.cookies(in: file)
            case .json: try CookieDocument.cookies(in: file)
            }
        guard cookies.count <= CookieJar.maximumCount else {
            throw CookieError(.tooLarge, "A cookie file has at most \(CookieJar.maximumCount) cookies.")
        }
        return cookies
    }

    func file(of cookies: [Cookie]) -> [UInt8] {
        switch self {
        case .netscape: NetscapeFile.file(of: cookies)
        case .json: CookieDocument.file(of: cookies)
        }
    }
}
