public import SallyportBase
public import SallyportCore
public import SallyportHTTPAuthentication
public import SallyportLoading

/// A scheme of an app's own: servers that ask for `Pass` get the credential's password, in each request from then on.
public struct PassScheme: AuthenticationScheme {
    public let method = AuthenticationMethod("pass")

    public init() {}

    public func takes(_ offered: OfferedScheme) -> Bool { offered.token68 == nil }

    public func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String> {
        Redacted("Pass \(credential.password.reveal())")
    }

    public func scope(of url: RequestURL) -> String? { "/" }
}
