/// The formats of cookie files for other programs.
public enum CookieFileFormat: String, Sendable, Hashable, CaseIterable {
    /// Lines of seven fields separated by tabs, as curl, wget and browsers' tools read and write them. It cannot
    /// express `SameSite`, its times are in seconds, and it cannot hold a cookie that contains a tab.
    case netscape
    /// An array of objects; see Docs/Cookies.md for their fields. Only the times of creation and use are lost.
    case json

    /// Whether a file of this format can hold the cookie; ``CookieJar/exportCookies(as:of:)`` leaves it out otherwise.
    public func canHold(_ cookie: Cookie) -> Bool {
        switch self {
        case .netscape: NetscapeFile.canHold(cookie)
        case .json: true
        }
    }

    /// - Throws: `invalidFile` for the first invalid line or entry; `tooLarge`.
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
