public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// One way to prove in a request who somebody is: the method of a challenge, and what is answered.
///
/// A value. A scheme that says the same in each request needs three functions:
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
/// One whose proofs are another for each request makes an ``AuthenticationSession`` for each protection space. All functions
/// are called on the task of a load, many at once, and must not block.
public protocol AuthenticationScheme: Sendable {
    /// The scheme's name, as challenges have it. Where it is `basic`, `digest`, `negotiate` or `ntlm`, the administrator's
    /// policy must allow it.
    var method: AuthenticationMethod { get }

    /// Whether it can answer such a challenge.
    func takes(_ offered: OfferedScheme) -> Bool

    /// What is answered of several challenges of one protection space, none of them refused by ``takes(_:)-(OfferedScheme)``:
    /// the first, unless this says otherwise.
    func preferred(of offers: [OfferedScheme]) -> OfferedScheme?

    /// Which of several challenges is answered with the stronger proof: the higher number. 0 unless this says otherwise.
    func strength(of offered: OfferedScheme) -> Int

    /// What the scheme keeps of a protection space, where each request has a proof of its own; nil where
    /// ``authorization(answering:with:for:)`` says it all, which is so unless this says otherwise.
    ///
    /// Asked once for a principal and a space, and again after its credentials were cleared.
    func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)?

    /// Whether it can speak for such a user; one that it cannot is left to the next scheme. Any, unless this says
    /// otherwise.
    func takes(_ credential: Credential) -> Bool

    /// What answers without the app being asked, as long as the server has refused nothing in this load. Nothing, unless
    /// this says otherwise.
    ///
    /// - Throws: why the load cannot go on. Cancelled with the load.
    func credentialAtHand(
        in space: ProtectionSpace, of principal: Principal
    ) async throws(LoadError) -> Credential?

    /// What `Authorization`, or `Proxy-Authorization`, says. Not asked of a scheme with sessions.
    ///
    /// - Throws: ``LoadError/Code/invalidRequest`` for a credential that cannot be sent by this scheme;
    ///   `credentialRefused` for one that is known to be wrong: the app is asked for another.
    func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String>

    /// The path below which a credential that was accepted for `url` may be sent unasked; nil where it may not, which is so
    /// unless this says otherwise.
    func scope(of url: RequestURL) -> String?
}

extension AuthenticationScheme {
    public func preferred(of offers: [OfferedScheme]) -> OfferedScheme? { offers.first }
    public func strength(of offered: OfferedScheme) -> Int { 0 }
    public func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)? { nil }
    public func takes(_ credential: Credential) -> Bool { true }
    public func credentialAtHand(
        in space: ProtectionSpace, of principal: Principal
    ) async throws(LoadError) -> Credential? { nil }
    public func scope(of url: RequestURL) -> String? { nil }

    /// What a scheme with sessions answers to the question of those without.
    public func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String> {
        throw LoadError(.internalFailure, at: .request, "\(method) proves each request by itself.")
    }
}

/// A scheme that proves who asks once for a connection with the server: its sessions are ``ConnectionSession``s, and proxies
/// are not answered.
package protocol ConnectionScheme: AuthenticationScheme {}
