#if Kerberos
internal import Logging
internal import SallyportAuthorization
internal import SallyportConnecting
internal import SallyportHTTPAuthentication
public import SallyportKerberos
internal import SallyportSecureStore

extension Sallyport {
    static func kerberos(
        in store: SecureStore, _ authorization: Authorization, _ connector: Connector, _ logger: Logger
    ) -> Kerberos {
        Kerberos(in: store, gate: authorization, tunnels: connector.tunnels, names: authorization, logger: logger) {
            authorization.configuration.kdcs(of: $0)
        }
    }

    /// Allows or forbids that services which the realm trusts for delegation act for the user; forbidden before the
    /// first call. Each call clears the tickets and credentials of `Negotiate`, even if it changes nothing. Keytabs and
    /// caches that the app has set stay, and tickets are obtained from them again.
    ///
    /// - Throws: `KerberosError` with the code `store` where the tickets cannot be removed from the store.
    public func kerberosAllowDelegation(_ isAllowed: Bool) async throws(KerberosError) {
        // `Kerberos` clears its own part: as a follower of the credentials it would also drop keytabs and caches.
        await credentials.clear(for: .negotiate) { !($0 is Kerberos) }
        try await kerberos.allowDelegation(isAllowed)
    }
}
#endif
