public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// One way to authenticate a request: the method that challenges name, and how they are answered.
///
/// A value. A scheme that sends the same in each request needs three functions:
///
/// ```swift
/// /// Tokens that an app keeps as passwords (RFC 6750).
/// struct BearerScheme: AuthenticationScheme {
///     let method = AuthenticationMethod("bearer")
///
///     func takes(_ offered: OfferedScheme) -> Bool { offered.token68 == nil }
///
///     func authorization(
///         answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
///     ) throws(LoadError) -> Redacted<String> {
///         Redacted("Bearer \(credential.password.reveal())")
///     }
///
///     func scope(of url: RequestURL) -> String? { "/" }
/// }
/// ```
///
/// A scheme with a separate proof for each request makes an ``AuthenticationSession`` for each protection space. All
/// functions are called on the tasks of loads, many at once, and must not block.
public protocol AuthenticationScheme: Sendable {
    /// The scheme's name in challenges. If it is `basic`, `digest`, `negotiate` or `ntlm`, the administrator's policy
    /// must allow it.
    var method: AuthenticationMethod { get }

    /// Whether it can answer such a challenge.
    func takes(_ offered: OfferedScheme) -> Bool

    /// Chooses one of several challenges of one protection space, all of which ``takes(_:)-(OfferedScheme)`` has
    /// accepted. By default the first.
    func preferred(of offers: [OfferedScheme]) -> OfferedScheme?

    /// How strong the proof for a challenge is; of several challenges, the one with the higher number is tried first.
    /// By default 0.
    func strength(of offered: OfferedScheme) -> Int

    /// What the scheme keeps of a protection space if each request has a proof of its own; nil if
    /// ``AuthenticationScheme/authorization(answering:with:for:)`` makes the whole answer. By default nil.
    ///
    /// Called once for a principal and a space, and again after its credentials were cleared.
    func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)?

    /// Whether the scheme can use this credential; if not, the next scheme is tried. By default true.
    func takes(_ credential: Credential) -> Bool

    /// Credentials that are used without asking the app, the preferred one first, as long as the server has refused
    /// none in this load. The first one is taken whose user the principal may be in the space: a server that has
    /// accepted the principal as one user gets no other. By default none.
    ///
    /// - Throws: why the load cannot go on. Cancelled with the load.
    func credentialsAtHand(
        in space: ProtectionSpace, of principal: Principal
    ) async throws(LoadError) -> [Credential]

    /// The value of `Authorization` or `Proxy-Authorization`. Not called for a scheme with sessions.
    ///
    /// - Throws: `LoadError.Code.invalidRequest` for a credential that this scheme cannot send; `credentialRefused`
    ///   for one that is known to be wrong: the app is then asked for another, and no other method says the same
    ///   password in that load unless the app answers its challenge with it.
    func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String>

    /// The path below which a credential that was accepted for `url` may be sent unasked; nil if it must not be sent
    /// unasked. By default nil.
    func scope(of url: RequestURL) -> String?
}

extension AuthenticationScheme {
    /// The first.
    public func preferred(of offers: [OfferedScheme]) -> OfferedScheme? { offers.first }
    /// 0 for each challenge.
    public func strength(of offered: OfferedScheme) -> Int { 0 }
    /// Nil: the whole answer comes from ``AuthenticationScheme/authorization(answering:with:for:)``.
    public func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)? { nil }
    /// True for each credential.
    public func takes(_ credential: Credential) -> Bool { true }
    /// None: the app, or a default credential, answers.
    public func credentialsAtHand(
        in space: ProtectionSpace, of principal: Principal
    ) async throws(LoadError) -> [Credential] { [] }
    /// Nil: no credential is sent unasked.
    public func scope(of url: RequestURL) -> String? { nil }

    /// The default for schemes with sessions, for which it is never called.
    public func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String> {
        throw LoadError(.internalFailure, at: .request, "\(method) proves each request by itself.")
    }
}

/// A scheme that authenticates a connection with the server once. Its sessions are ``ConnectionSession``s, and it does
/// not answer proxies.
package protocol ConnectionScheme: AuthenticationScheme {}
