public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// A user's name and password, readable by whoever sees the request (RFC 7617): for TLS.
public struct BasicScheme: AuthenticationScheme {
    public init() {}

    public var method: AuthenticationMethod { .basic }

    public func takes(_ offered: OfferedScheme) -> Bool { offered.token68 == nil }

    /// UTF-8 whether the server says so or not, which is the only other charset that it may name (§2.1).
    public func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String> {
        try credential.basicAuthorization()
    }

    /// As deep as the last symbolic element of the path (§2.2).
    public func scope(of url: RequestURL) -> String? {
        let path = url.target.prefix { $0 != "?" }
        return path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
    }
}
