internal import HTTPTypes
internal import SallyportBase
public import SallyportCore
public import SallyportHTTPAuthentication
internal import SallyportLoading

/// Kerberos with the scheme Negotiate (RFC 4559), for an `AuthenticationStage`.
public struct NegotiateScheme: AuthenticationScheme {
    private let kerberos: Kerberos

    /// - Parameter kerberos: the source of tickets.
    public init(_ kerberos: Kerberos) { self.kerberos = kerberos }

    /// `negotiate`.
    public var method: AuthenticationMethod { .negotiate }

    /// A token in a challenge ends an exchange; the next request begins a new one.
    public func takes(_ offered: OfferedScheme) -> Bool { offered.parameters.isEmpty }

    /// Refuses a user without a realm, who may be known by another scheme.
    public func takes(_ credential: Credential) -> Bool { KerberosUser(parsing: credential.user) != nil }

    /// The users who have tickets, or a way to get some; whether there is one for this server is not checked.
    public func credentialsAtHand(
        in space: ProtectionSpace, of principal: Principal
    ) async throws(LoadError) -> [Credential] {
        do throws(KerberosError) {
            return try await kerberos.usersAtHand(of: principal).map {
                Credential(user: "\($0)", password: Redacted(""))
            }
        } catch {
            throw error.asLoadError
        }
    }

    /// The state for the service `HTTP/host` of the space's origin; nil if the origin is not one of `http` or `https`.
    public func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)? {
        guard let host = (try? RequestURL(space.origin))?.endpoint?.host else { return nil }
        return NegotiateSession(kerberos, .http(host), of: principal)
    }
}

/// A principal's state for one server or proxy.
actor NegotiateSession: AuthenticationSession {
    private let kerberos: Kerberos
    private let service: ServiceName
    private let principal: Principal
    private var binding: ChannelBinding?

    init(_ kerberos: Kerberos, _ service: ServiceName, of principal: Principal) {
        self.kerberos = kerberos
        self.service = service
        self.principal = principal
    }

    /// All connections to the server have the same certificate; if it is replaced, the server sends another challenge.
    func challenged(by offered: OfferedScheme, over binding: ChannelBinding?) { self.binding = binding }

    /// Obtains a ticket if there is none.
    func signature(
        for request: LoadRequest, to kind: ProtectionSpace.Kind, with credential: Credential,
        until deadline: ContinuousClock.Instant
    ) async throws(LoadError) -> any RequestSignature {
        do throws(KerberosError) {
            let owner = TicketOwner(principal: principal, user: try KerberosUser(credential.user))
            let tickets = try await tickets(of: owner, credential, until: deadline)
            return NegotiateSignature(
                kerberos, owner, service, tickets, to: kind, over: binding?.structure)
        } catch {
            // The existing ticket does not apply to this server: the app is asked for a user.
            guard error.code == .unknownService, credential.password.reveal().isEmpty else { throw error.asLoadError }
            throw LoadError(.credentialRefused, at: .request, error.message, underlying: error)
        }
    }

    private func tickets(
        of owner: TicketOwner, _ credential: Credential, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> Kerberos.ServiceTickets {
        let password = credential.password.reveal().isEmpty ? nil : credential.password
        if let tickets = try await kerberos.ticketsAtHand(for: service, of: owner, password: password) {
            if credential.persistence == .none { await kerberos.forgetPassword(of: owner) }
            return tickets
        }
        let result = await untilDeadline(deadline) { [kerberos, service] () -> Result<_, KerberosError> in
            do throws(KerberosError) {
                let tickets = try await kerberos.tickets(for: service, of: owner, password: password)
                return .success(tickets)
            } catch {
                return .failure(error)
            }
        }
        if credential.persistence == .none { await kerberos.forgetPassword(of: owner) }
        if let result, !Task.isCancelled { return try result.get() }
        let failure: LoadError =
            Task.isCancelled
            ? .cancelled() : LoadError(.resourceTimeout, at: .request, "No KDC answered in the time for the load.")
        throw KerberosError(.kdcUnreachable, failure.message, underlying: failure)
    }

    /// A ticket applies to the server as a whole, for all paths.
    nonisolated func scopes(of url: RequestURL) -> [String] { ["/"] }
}
