import SallyportBase
import SallyportConnecting
import SallyportCore
import TestSupport
import Testing

@testable import SallyportKerberos

/// What is taken into memory before authorization and after a withdrawal: nothing.
@Suite(.timeLimit(.minutes(1)))
struct KerberosAccessTests {
    private let gate = StubGate()

    private func expectNothingIsTaken(_ code: KerberosError.Code) async throws {
        let connector = Connector(gate: gate)
        let kerberos = Kerberos(in: nil, gate: gate, tunnels: connector.tunnels, realms: RealmServers())
        let user = try KerberosUser("ann@EXAMPLE.TEST")
        await #expect(throws: KerberosError(code, "")) {
            try await kerberos.signIn(as: user, password: Redacted("secret"))
        }
        // A load that began before.
        await #expect(throws: KerberosError(code, "")) {
            try await kerberos.tickets(
                for: ServiceName(service: "HTTP", host: "localhost"),
                of: TicketOwner(principal: .instance, user: user), password: Redacted("secret"))
        }
        // Not even the file is looked for.
        await #expect(throws: KerberosError(code, "")) { try await kerberos.useCredentialCache(at: "/none/at/all") }
        #expect(await kerberos.state.books.isEmpty)
        await connector.shutdown()
    }

    @Test func afterALockNoPasswordAndNoTicketIsTaken() async throws {
        gate.withdraw(.remoteLockout)
        try await expectNothingIsTaken(.withdrawn)
    }

    @Test func beforeAuthorizationNoPasswordAndNoTicketIsTaken() async throws {
        gate.close(AccessDenied(.notAuthorized))
        try await expectNothingIsTaken(.notAuthorized)
    }
}
