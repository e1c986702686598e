internal import HTTPTypes
package import SallyportCore
package import SallyportHTTPAuthentication

/// Kerberos by the scheme Negotiate (RFC 4559).
package struct NegotiateScheme: AuthenticationScheme {
    private let kerberos: Kerberos

    package init(_ kerberos: Kerberos) { self.kerberos = kerberos }

    package var method: AuthenticationMethod { .negotiate }

    /// A token in a challenge is an answer's end; the next answer begins anew.
    package func takes(_ offered: OfferedScheme) -> Bool { offered.parameters.isEmpty }

    /// Not a user without a realm, who may be known by another scheme.
    package func takes(_ credential: Credential) -> Bool { KerberosUser(parsing: credential.user) != nil }

    /// Whose tickets there are is not asked.
    package func credentialAtHand(
        in space: ProtectionSpace, of principal: Principal
    ) async throws(LoadError) -> Credential? {
        do throws(KerberosError) {
            return try kerberos.userAtHand(of: principal).map { Credential(user: "\($0)", password: Redacted("")) }
        } catch {
            throw error.asLoadError
        }
    }

    package func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)? {
        guard let host = (try? RequestURL(space.origin))?.endpoint?.host else { return nil }
        return NegotiateSession(kerberos, .http(host), of: principal)
    }
}

/// What a principal says to one server, or proxy.
final class NegotiateSession: AuthenticationSession {
    private let kerberos: Kerberos
    private let service: ServiceName
    private let principal: Principal
    private let binding = Lock<ChannelBinding?>(nil)

    init(_ kerberos: Kerberos, _ service: ServiceName, of principal: Principal) {
        self.kerberos = kerberos
        self.service = service
        self.principal = principal
    }

    func challenged(by offered: OfferedScheme) {}

    /// The server's certificate is the same for all its connections, but where it is changed: it asks again then.
    func challenged(over binding: ChannelBinding?) { self.binding.withLock { $0 = binding } }

    /// Asks for a ticket where there is none.
    func signature(
        for request: LoadRequest, to kind: ProtectionSpace.Kind, with credential: Credential
    ) async throws(LoadError) -> any RequestSignature {
        let password = credential.password.reveal().isEmpty ? nil : credential.password
        do throws(KerberosError) {
            let owner = TicketOwner(principal: principal, user: try KerberosUser(credential.user))
            let tickets = try await kerberos.tickets(for: service, of: owner, password: password)
            return NegotiateSignature(
                kerberos, owner, service, tickets, to: kind, over: binding.withLock { $0?.structure })
        } catch {
            throw error.asLoadError
        }
    }

    /// A ticket is the server's, whatever the path.
    func scopes(of url: RequestURL) -> [String] { ["/"] }
}
