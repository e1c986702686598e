public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// Sends the user's name and password in clear text (RFC 7617), so it should be used over TLS only.
public struct BasicScheme: AuthenticationScheme {
    /// Has no settings; whether Basic may be used over plain `http` is a setting of the load.
    public init() {}

    /// `basic`.
    public var method: AuthenticationMethod { .basic }

    /// Whether the challenge has parameters, or nothing, but no data in place of them.
    public func takes(_ offered: OfferedScheme) -> Bool { offered.token68 == nil }

    /// Always UTF-8, which is the only charset that a server may name (§2.1).
    public func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String> {
        try credential.basicAuthorization()
    }

    /// The path up to its last slash (§2.2).
    public func scope(of url: RequestURL) -> String? {
        let path = url.target.prefix { $0 != "?" }
        return path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
    }
}
