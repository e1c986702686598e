import OutsideChecks
import SallyportBase
import SallyportConnecting
import SallyportCore
import SallyportKerberos

/// Kerberos alone: tickets of a realm, in memory, without an authorization. Sessions would answer `Negotiate` with a
/// `NegotiateScheme` of it.
///
///     OutsideKerberos HOST:PORT REALM
@main
struct OutsideKerberos {
    private static let usage = "OutsideKerberos HOST:PORT REALM"

    /// Lets the KDC be reached from this machine, and nothing else.
    private struct KDCAlone: AccessGate {
        let kdc: Endpoint

        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            let decision = RoutingTable(servers: [.init(kdc, route: .direct)]).decide(endpoint)
            guard decision.route == .direct else { throw AccessDenied(.denied(decision)) }
            return ServerAccess(decision: decision, relay: nil)
        }
        func checkAuthorized() throws(AccessDenied) {}
        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            AccessObservation()
        }
    }

    static func main() async throws {
        let (kdc, realm) = (try Endpoint(argument(1, usage)), argument(2, usage))
        let connector = Connector(gate: KDCAlone(kdc: kdc))
        let kerberos = Kerberos(tunnels: connector.tunnels) { $0 == realm ? [kdc] : [] }

        try await kerberos.signIn(as: KerberosUser("ann@\(realm)"), password: Redacted("open"))
        let tickets = try await kerberos.tickets()
        show("the KDC gives a ticket: \(tickets.map(\.user))", tickets.count == 1)

        await fails(kerberos, "ann@\(realm)", "closed", with: .wrongPassword)
        await fails(kerberos, "ann@ELSEWHERE.TEST", "open", with: .kdcUnreachable)
        try await kerberos.clear()
        show("tickets are gone when they are cleared", try await kerberos.tickets().isEmpty)
        await connector.shutdown()
    }

    private static func fails(
        _ kerberos: Kerberos, _ user: String, _ password: String, with code: KerberosError.Code
    ) async {
        do throws(KerberosError) {
            try await kerberos.signIn(as: KerberosUser(user), password: Redacted(password))
            show("\(code)", false)
        } catch {
            show("\(code): \(error.message)", error.code == code)
        }
    }
}
