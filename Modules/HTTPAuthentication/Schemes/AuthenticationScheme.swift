internal import HTTPTypes
package import SallyportBase
package import SallyportCore
package import SallyportLoading

/// One way to prove who somebody is in a request. A value; what it learns of a server is in the challenge.
package protocol AuthenticationScheme: Sendable {
    var method: AuthenticationMethod { get }
    /// Whether it proves who asks once for a connection with the server: its sessions are ``ConnectionSession``s, and proxies
    /// are not answered.
    var isOfConnection: Bool { get }
    /// Whether it can answer such a challenge.
    func takes(_ offered: OfferedScheme) -> Bool
    /// What is answered of several challenges of one protection space, none of them refused by ``takes(_:)``.
    func preferred(of offers: [OfferedScheme]) -> OfferedScheme?
    /// Which of several challenges is answered with the stronger proof: the higher number.
    func strength(of offered: OfferedScheme) -> Int
    /// Where each request has a proof of its own; nil where ``authorization(answering:with:for:)`` says it all.
    func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)?
    /// Whether it can speak for such a user; one that it cannot is left to the next scheme.
    func takes(_ credential: Credential) -> Bool
    /// What answers without anybody being asked, as long as the server has refused nothing in this load.
    func credentialAtHand(
        in space: ProtectionSpace, of principal: Principal
    ) async throws(LoadError) -> Credential?
    /// What `Authorization` says. Not asked of a scheme with sessions.
    ///
    /// - Throws: ``LoadError/Code/invalidRequest`` for a credential that cannot be sent by this scheme.
    func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String>
    /// The path below which a credential that was accepted for `url` may be sent unasked; nil where it may not.
    func scope(of url: RequestURL) -> String?
}

extension AuthenticationScheme {
    package var isOfConnection: Bool { false }
    package func preferred(of offers: [OfferedScheme]) -> OfferedScheme? { offers.first }
    package func strength(of offered: OfferedScheme) -> Int { 0 }
    package func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)? { nil }
    package func takes(_ credential: Credential) -> Bool { true }
    package func credentialAtHand(
        in space: ProtectionSpace, of principal: Principal
    ) async throws(LoadError) -> Credential? { nil }
}

/// What a scheme with sessions answers to the questions of those without.
extension AuthenticationScheme {
    package func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String> {
        throw LoadError(.internalFailure, at: .request, "\(method) proves each request by itself.")
    }

    package func scope(of url: RequestURL) -> String? { nil }
}

/// A user's name and password, readable by whoever sees the request (RFC 7617): for TLS.
package struct BasicScheme: AuthenticationScheme {
    package init() {}

    package var method: AuthenticationMethod { .basic }

    package func takes(_ offered: OfferedScheme) -> Bool { offered.token68 == nil }

    /// UTF-8 whether the server says so or not, which is the only other charset that it may name (§2.1).
    package func authorization(
        answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
    ) throws(LoadError) -> Redacted<String> {
        try credential.basicAuthorization()
    }

    /// As deep as the last symbolic element of the path (§2.2).
    package func scope(of url: RequestURL) -> String? {
        let path = url.target.prefix { $0 != "?" }
        return path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
    }
}
