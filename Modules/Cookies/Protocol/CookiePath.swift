/// Paths of cookies and of requests (RFC 6265bis §5.1.4).
enum CookiePath {
    static let root = [UInt8(ascii: "/")]

    /// The path of a cookie without a `Path` attribute.
    static func `default`(of requestPath: String) -> [UInt8] {
        let path = Array(requestPath.utf8)
        guard path.first == UInt8(ascii: "/"), let last = path.lastIndex(of: UInt8(ascii: "/")), last > 0 else {
            return root
        }
        return Array(path[..<last])
    }

    static func matches(_ request: some Collection<UInt8>, _ cookie: [UInt8]) -> Bool {
        if cookie.count == 1 { return request.first == cookie[0] }
        guard request.count >= cookie.count, request.starts(with: cookie) else { return false }
        if request.count == cookie.count || cookie.last == UInt8(ascii: "/") { return true }
        return request.dropFirst(cookie.count).first == UInt8(ascii: "/")
    }
}
