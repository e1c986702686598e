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

    /// The lock drops the cache's ticket, and keeps the path for the time after it.
    @Test func aLoadThatBeganBeforeALockReadsNoCache() async throws {
        let kdc = try await TestKDC.start()
        try await kdc.addUser("ann", password: "secret")
        let path = try await kdc.cache(of: "ann", password: "secret")
        let connector = Connector(gate: gate)
        let kerberos = Kerberos(in: nil, gate: gate, tunnels: connector.tunnels, realms: RealmServers())
        let user = try await kerberos.useCredentialCache(at: path)
        let applicant = await kerberos.applicant(TicketOwner(principal: .instance, user: user))
        let deadline = ContinuousClock.now + .seconds(30)
        gate.withdraw(.remoteLockout)
        await kerberos.forget()
        await #expect(throws: KerberosError(.withdrawn, "")) {
            try await kerberos.granting(of: applicant, until: deadline)
        }
        #expect(await kerberos.state.books.values.allSatisfy(\.isEmpty))
        gate.authorize()
        _ = try await kerberos.granting(of: applicant, until: deadline)
        await connector.shutdown()
    }

    @Test func beforeAuthorizationNoPasswordAndNoTicketIsTaken() async throws {
        gate.close(AccessDenied(.notAuthorized))
        try await expectNothingIsTaken(.notAuthorized)
    }
}
