import Foundation
import SallyportBase
import SallyportConnecting
import SallyportCore
import SallyportURLLoading
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportKerberos

/// Tickets of a real KDC.
@Suite(.timeLimit(.minutes(2)))
struct RealmTests {
    private func realm(_ lifetime: Int = 3600, isAhead: Int = 0) async throws -> TestKDC {
        let kdc = try await TestKDC.start(lifetime: lifetime, isAhead: isAhead)
        try await kdc.addUser("ann", password: "secret")
        try await kdc.addService("HTTP/localhost")
        return kdc
    }

    private func users(_ app: KerberosApp) async -> [String] {
        await app.kerberos.state.books.keys.map { "\($0.user)" }
    }

    @Test func oneSignInServesAllServices() async throws {
        let kdc = try await realm()
        try await kdc.addService("HTTP/other.example")
        let app = try KerberosApp([kdc])
        let first = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        #expect(first.isNew && first.delegated == nil)
        #expect(try await !app.ticket("localhost", "ann@EXAMPLE.TEST", "secret").isNew)
        #expect(try await app.ticket("other.example", "ann@EXAMPLE.TEST", nil).isNew)
        #expect(kdc.count("AS_REQ") == 1 && kdc.count("TGS_REQ") == 2)
        let tickets = try await app.kerberos.tickets()
        #expect(tickets.map(\.service) == [nil, "HTTP/localhost", "HTTP/other.example"])
        #expect(tickets.allSatisfy { abs($0.ends - app.clock.now - 3600) < 60 && $0.user == "ann@EXAMPLE.TEST" })
        // Nothing of the host was read: krb5 would have written what it does.
        #expect(!FileManager.default.fileExists(atPath: HostileHost.trace))
        await app.loading.shutdown()
    }

    @Test func errorsOfAUserAreReported() async throws {
        let kdc = try await realm()
        try await kdc.addUser("late", password: "secret", "+requires_preauth -pwexpire yesterday")
        try await kdc.addUser("gone", password: "secret", "+requires_preauth -allow_tix")
        try await kdc.addUser("plain", password: "secret", "-requires_preauth")
        let app = try KerberosApp([kdc])
        for (user, password, code) in [
            ("ann", "wrong", KerberosError.Code.wrongPassword), ("bob", "secret", .unknownUser),
            ("plain", "wrong", .wrongPassword), ("late", "secret", .passwordExpired),
            ("gone", "secret", .accountLocked),
            ("ann", "a\0b", .wrongPassword),
        ] {
            await #expect(throws: KerberosError(code, ""), "\(user)") {
                try await app.ticket("localhost", "\(user)@EXAMPLE.TEST", password)
            }
        }
        await #expect(throws: KerberosError(.unknownService, "")) {
            try await app.ticket("nobody.example", "ann@EXAMPLE.TEST", "secret")
        }
        await app.loading.shutdown()
    }

    /// Realms lock users out.
    @Test func aWrongPasswordIsNotTriedASecondTime() async throws {
        let kdc = try await realm()
        let app = try KerberosApp([kdc])
        await #expect(throws: KerberosError(.wrongPassword, "")) {
            try await app.ticket("localhost", "ann@EXAMPLE.TEST", "wrong")
        }
        // The KDC notes a request before it answers, and the end of the connection at any time.
        let requests = {
            let log = try String(contentsOfFile: kdc.folder.file("kdc.log"), encoding: .utf8)
            return log.split(separator: "\n").filter { $0.contains("_REQ ") }
        }
        let count = try requests().count
        #expect(count > 0)
        await #expect(throws: KerberosError(.noTicket, "")) {
            try await app.ticket("localhost", "ann@EXAMPLE.TEST", nil)
        }
        #expect(try requests().count == count)
        await app.loading.shutdown()
    }

    @Test func aKeytabSpeaksForAService() async throws {
        let kdc = try await realm()
        let path = try await kdc.addService("report/host.example")
        let app = try KerberosApp([kdc])
        let user = try await app.kerberos.useKeytab(at: path)
        #expect("\(user)" == "report/host.example@EXAMPLE.TEST")
        #expect(try await app.kerberos.usersAtHand(of: .instance) == [user])
        #expect(try await app.ticket("localhost", "\(user)", nil).isNew)
        await #expect(throws: KerberosError(.keytab, "")) { try await app.kerberos.useKeytab(at: path + "x") }
        try await app.kerberos.useKeytab(at: path, for: KerberosUser("ann@EXAMPLE.TEST"), of: Principal("p"))
        await #expect(throws: KerberosError(.keytab, "")) {
            try await app.ticket("localhost", "ann@EXAMPLE.TEST", nil, of: Principal("p"))
        }
        await app.loading.shutdown()
    }

    @Test func aKeytabThatCannotBeReadAnyMoreIsReportedAsSuch() async throws {
        let kdc = try await realm()
        let path = try await kdc.addService("report/host.example")
        let app = try KerberosApp([kdc])
        let user = try await app.kerberos.useKeytab(at: path)
        try FileManager.default.removeItem(atPath: path)
        await #expect(throws: KerberosError(.keytab, "")) { try await app.ticket("localhost", "\(user)", nil) }
        try Data("no keytab at all".utf8).write(to: URL(filePath: path))
        await #expect(throws: KerberosError(.keytab, "")) { try await app.ticket("localhost", "\(user)", nil) }
        #expect(kdc.count("AS_REQ") == 0)
        // It is read each time.
        _ = try await kdc.keytab(of: "report/host.example")
        #expect(try await app.ticket("localhost", "\(user)", nil).isNew)
        await app.loading.shutdown()
    }

    /// What a lock and a wipe leave.
    @Test func clearingRemovesSecretsOnly() async throws {
        let kdc = try await realm()
        let keytab = try await kdc.addService("report/host.example")
        let app = try KerberosApp([kdc])
        let (a, b) = (Principal("a"), Principal("b"))
        let service = try await app.kerberos.useKeytab(at: keytab, of: a)
        _ = try await app.ticket("localhost", "\(service)", nil, of: a)
        _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret", of: b)
        await app.kerberos.forget()
        #expect(try await app.kerberos.tickets().isEmpty)
        #expect(try await app.kerberos.usersAtHand(of: b).isEmpty)
        #expect(try await app.kerberos.usersAtHand(of: a) == [service])
        #expect(try await app.ticket("localhost", "\(service)", nil, of: a).isNew)
        try await app.kerberos.clear()
        #expect(try await app.kerberos.usersAtHand(of: a).isEmpty)
        await app.loading.shutdown()
    }

    /// A service is not asked for its keytab or cache again.
    @Test func allowingDelegationLeavesKeytabsAndCaches() async throws {
        let (kdc, store) = (try await realm(), try await TestStore())
        let keytab = try await kdc.addService("report/host.example")
        let path = try await kdc.cache(of: "ann", password: "secret")
        let app = try KerberosApp([kdc], in: store.store)
        let (a, b) = (Principal("a"), Principal("b"))
        let service = try await app.kerberos.useKeytab(at: keytab, of: a)
        let user = try await app.kerberos.useCredentialCache(at: path, of: b)
        _ = try await app.ticket("localhost", "\(service)", nil, of: a)
        _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        try await app.kerberos.allowDelegation(true)
        #expect(try await app.kerberos.tickets().isEmpty)
        #expect(try TicketStorage(store.store).load().isEmpty)
        #expect(try await app.kerberos.usersAtHand(of: .instance).isEmpty, "her password is dropped")
        #expect(try await app.ticket("localhost", "\(service)", nil, of: a).isNew)
        #expect(try await app.ticket("localhost", "\(user)", nil, of: b).isNew)
        await app.loading.shutdown()
        store.close()
    }

    @Test func aCredentialCacheAuthenticatesItsOwner() async throws {
        let kdc = try await realm()
        let path = try await kdc.cache(of: "ann", password: "secret")
        let app = try KerberosApp([kdc])
        let user = try await app.kerberos.useCredentialCache(at: path)
        #expect("\(user)" == "ann@EXAMPLE.TEST")
        #expect(try await app.ticket("localhost", "\(user)", nil).isNew)
        #expect(kdc.count("AS_REQ") == 1, "kinit's own")
        await #expect(throws: KerberosError(.credentialCache, "")) {
            try await app.kerberos.useCredentialCache(at: path + "x")
        }
        try kdc.folder.write("no cache at all", to: "garbage")
        await #expect(throws: KerberosError(.credentialCache, "")) {
            try await app.kerberos.useCredentialCache(at: kdc.folder.file("garbage"))
        }
        await app.loading.shutdown()
    }

    // MARK: Time

    @Test func aTicketIsRenewedInItsSecondHalfAndAskedForAnewAfterIt() async throws {
        let kdc = try await realm(200)
        let app = try KerberosApp([kdc])
        _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        try await kdc.addService("HTTP/second.example")
        app.clock.advance(by: 120)
        _ = try await app.ticket("second.example", "ann@EXAMPLE.TEST", nil)
        // Renewing is a request for a ticket of the ticket-granting service.
        #expect(kdc.count("AS_REQ") == 1 && kdc.count("TGS_REQ") == 3)
        app.clock.advance(by: 300)
        // Our clock says that it is over: the password asks for another.
        await #expect(throws: KerberosError.self) { try await app.ticket("third.example", "ann@EXAMPLE.TEST", nil) }
        #expect(kdc.count("AS_REQ") == 2)
        await app.loading.shutdown()
    }

    @Test(arguments: [3600, -3600]) func aRealmWithAnotherClockIsUnderstood(ahead: Int) async throws {
        let kdc = try await realm(isAhead: ahead)
        let app = try KerberosApp([kdc])
        let ticket = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret").service
        #expect(abs(Int(ticket.offset) - ahead) < 60)
        let ends = try await app.kerberos.tickets().map(\.ends)
        #expect(ends.allSatisfy { abs($0 - app.clock.now - 3600) < 60 }, "told by our own clock")
        #expect(try await !app.ticket("localhost", "ann@EXAMPLE.TEST", nil).isNew)
        await app.loading.shutdown()
    }

    // MARK: KDCs that fail

    @Test func aRealmThatIsStartedAgainIsAskedAgain() async throws {
        let kdc = try await realm()
        let app = try KerberosApp([kdc], timeout: .seconds(5))
        _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        try await kdc.addService("HTTP/late.example")
        try await kdc.stop()
        await #expect(throws: KerberosError(.kdcUnreachable, "")) {
            try await app.ticket("late.example", "ann@EXAMPLE.TEST", nil)
        }
        #expect(try await !app.ticket("localhost", "ann@EXAMPLE.TEST", nil).isNew, "what there is serves")
        #expect(try await kdc.start())
        #expect(try await app.ticket("late.example", "ann@EXAMPLE.TEST", nil).isNew)
        #expect(kdc.count("AS_REQ") == 1)
        await app.loading.shutdown()
    }

    @Test func aSilentKDCDelaysNoOtherRealm() async throws {
        let kdc = try await realm()
        let silent = try TestServer { $0.awaitEnd() }
        let app = try KerberosApp(
            [kdc], timeout: .seconds(10), others: ["SILENT.TEST": [try silent.endpoint]])
        let waiting = Task { _ = try await app.ticket("localhost", "bob@SILENT.TEST", "x") }
        #expect(try await eventually { silent.acceptedConnections > 0 })
        let begun = ContinuousClock.now
        _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        // Less than the time in which the silent one is given up.
        #expect(ContinuousClock.now - begun < .seconds(8))
        waiting.cancel()
        await #expect(throws: (any Error).self) { try await waiting.value }
        await app.loading.shutdown()
    }

    @Test func aPasswordThatNoKDCConfirmedPushesOutNoUser() async throws {
        let kdc = try await realm()
        let closing = try TestServer { _ in }
        let app = try KerberosApp([kdc], others: ["CLOSING.TEST": [try closing.endpoint]], limit: 1)
        _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        // Her tickets expire: only the password is left.
        app.clock.advance(by: 7200)
        await #expect(throws: KerberosError(.kdcUnreachable, "")) {
            try await app.ticket("localhost", "bob@CLOSING.TEST", "unconfirmed")
        }
        #expect(await users(app) == ["ann@EXAMPLE.TEST"])
        let another = try KerberosUser("eve@CLOSING.TEST")
        await #expect(throws: KerberosError(.kdcUnreachable, "")) {
            try await app.kerberos.signIn(as: another, password: Redacted("unconfirmed"))
        }
        #expect(await users(app) == ["ann@EXAMPLE.TEST"])
        await app.loading.shutdown()
    }

    @Test func theNextKDCIsAskedWhereOneFails() async throws {
        let kdc = try await realm()
        let silent = try TestServer { $0.awaitEnd() }
        let closing = try TestServer { _ in }
        let last = try Endpoint("127.0.0.1:\(kdc.port)")
        // Half of it passes with the silent KDC; each message to the last one then has more than a second.
        let app = try KerberosApp(
            [], timeout: .seconds(6), others: ["EXAMPLE.TEST": [try closing.endpoint, try silent.endpoint, last]])
        #expect(try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret").isNew)
        // The first message found the one that answers, and all others went there at once.
        #expect(silent.acceptedConnections == 1 && closing.acceptedConnections == 1)
        await app.loading.shutdown()
    }

    /// Error 29 is that of a KDC whose database cannot be read. The other bytes are those of another program there.
    @Test(arguments: [KDCError.message(29), [1, 2, 3, 4], [0x7e, 0]])
    func theNextKDCIsAskedWhereOneDoesNotServe(answer: [UInt8]) async throws {
        let kdc = try await realm()
        let failing = try TestServer { connection in
            _ = connection.read()
            connection.write(KDCClient.framed(answer))
        }
        let servers = [try failing.endpoint, try Endpoint("127.0.0.1:\(kdc.port)")]
        let app = try KerberosApp([], others: ["EXAMPLE.TEST": servers])
        #expect(try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret").isNew)
        #expect(failing.acceptedConnections == 1, "it is not asked first for the other messages")
        await app.loading.shutdown()
    }

    /// Errors of the request are the realm's answer, which another KDC would only repeat.
    @Test func anErrorOfTheRequestIsAnAnswer() async throws {
        let refusing = try TestServer { connection in
            _ = connection.read()
            connection.write(KDCClient.framed(KDCError.message(6)))
        }
        let other = try TestServer { $0.awaitEnd() }
        let app = try KerberosApp([], others: ["EXAMPLE.TEST": [try refusing.endpoint, try other.endpoint]])
        await #expect(throws: KerberosError(.unknownUser, "")) {
            try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        }
        #expect(other.acceptedConnections == 0)
        await app.loading.shutdown()
    }

    @Test func manyLoadsWaitForASilentKDCTogether() async throws {
        let silent = try TestServer { $0.awaitEnd() }
        let app = try KerberosApp([], timeout: .seconds(1), others: ["SILENT.TEST": [try silent.endpoint]])
        let begun = ContinuousClock.now
        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    await #expect(throws: KerberosError(.kdcUnreachable, "")) {
                        try await app.ticket("localhost", "bob@SILENT.TEST", "x")
                    }
                }
            }
        }
        // One after another they would take 20 s.
        #expect(ContinuousClock.now - begun < .seconds(10))
        await app.loading.shutdown()
    }

    @Test func cancellingEndsOnlyItsOwnWait() async throws {
        let silent = try TestServer { $0.awaitEnd() }
        let app = try KerberosApp([], others: ["SILENT.TEST": [try silent.endpoint]])
        let waiting = Task { try await app.ticket("localhost", "bob@SILENT.TEST", "x") }
        #expect(try await eventually { silent.acceptedConnections > 0 })
        waiting.cancel()
        let begun = ContinuousClock.now
        guard case .failure(let error as KerberosError) = await waiting.result else {
            throw Unexpected("A ticket out of nothing")
        }
        #expect(error.asLoadError.code == .cancelled)
        #expect(ContinuousClock.now - begun < .seconds(5))
        await app.loading.shutdown()
    }

    @Test(arguments: [
        [UInt8]("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [0, 0, 0, 4, 1, 2, 3, 4], [0, 0, 0, 2, 0x7e, 0],
        [0x7f, 0xff, 0xff, 0xff], [0, 0, 0, 0], [0, 0],
    ])
    func aKDCThatAnswersGarbageIsAnError(answer: [UInt8]) async throws {
        let server = try TestServer { connection in
            _ = connection.read()
            connection.write(answer)
        }
        let app = try KerberosApp([], timeout: .seconds(3), others: ["EXAMPLE.TEST": [try server.endpoint]])
        do {
            _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
            Issue.record("A ticket out of garbage")
        } catch let error as KerberosError {
            #expect([.kdcUnreachable, .kdcProtocol, .other].contains(error.code), "\(error)")
            #expect(!error.code.isOfCredential)
        }
        await app.loading.shutdown()
    }

    /// Else a KDC that lets it be hashed very often would hold up the threads of all tasks.
    @Test func aPasswordIsHashedOnAThreadOfItsOwn() async throws {
        let asked = Lock(0)
        let server = try TestServer { connection in
            let number = asked.withLock { asked in
                asked += 1
                return asked
            }
            _ = connection.read()
            // The message that follows the hashing gets no answer.
            if number == 1 { connection.write(KDCClient.framed(KDCError.demand(hashedTimes: [0, 0x10, 0, 0]))) }
        }
        let app = try KerberosApp([], others: ["EXAMPLE.TEST": [try server.endpoint]])
        let waiting = Task { try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret") }
        // Other tests may have such threads as well, but only if passwords are hashed on them.
        #expect(try await eventually { ThreadNames.contains("krb5-password") })
        await #expect(throws: KerberosError(.kdcUnreachable, "")) { try await waiting.value }
        #expect(asked.withLock { $0 } == 2)
        await app.loading.shutdown()
    }

    /// Each message is answered within the time limit, but not two of them.
    @Test func allMessagesForATicketShareItsTime() async throws {
        let server = try TestServer { connection in
            _ = connection.read()
            // On the server's own thread: the time that a slow KDC takes.
            usleep(3_000_000)
            connection.write(KDCClient.framed(KDCError.demand(hashedTimes: [0, 0, 0x10, 0])))
        }
        let app = try KerberosApp([], timeout: .seconds(5), others: ["EXAMPLE.TEST": [try server.endpoint]])
        do {
            _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
            Issue.record("A ticket of a KDC that issues none")
        } catch let error as KerberosError {
            #expect(error.code == .kdcUnreachable && (error.underlying as? LoadError)?.code == .idleTimeout, "\(error)")
        }
        #expect(server.acceptedConnections <= 2)
        await app.loading.shutdown()
    }

    @Test func noMessageIsSentAfterTheTimeOfItsTicket() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let endpoint = try server.endpoint
        let connector = Connector(gate: OpenGate())
        let client = KDCClient(tunnels: connector.tunnels, realms: RealmServers { _ in [endpoint] })
        await #expect(throws: KerberosError(.kdcUnreachable, "")) {
            try await client.answer(to: [1], of: "EXAMPLE.TEST", until: ContinuousClock.now.advanced(by: .seconds(-1)))
        }
        #expect(server.acceptedConnections == 0)
        await connector.shutdown()
    }

    /// Another realm's KDC answers for this one.
    @Test func aRealmThatLiesGetsNoPassword() async throws {
        let liar = try await TestKDC.start(realm: "EXAMPLE.TEST")
        try await liar.addUser("ann", password: "other")
        let app = try KerberosApp([liar])
        await #expect(throws: KerberosError(.wrongPassword, "")) {
            try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        }
        await app.loading.shutdown()
    }

    @Test func aKDCThatIsNotListedIsNotSpokenTo() async throws {
        let kdc = try await realm()
        let gate = ClosedGate()
        let app = try KerberosApp([kdc], gate: gate)
        do {
            _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
            Issue.record("A ticket in spite of the policy")
        } catch let error as KerberosError {
            #expect(error.code == .kdcUnreachable && (error.underlying as? LoadError)?.code == .refusedByPolicy)
        }
        #expect(gate.asked == 1 && kdc.count("AS_REQ") == 0)
        await app.loading.shutdown()
    }

    // MARK: Several realms

    @Test func aReferralIsFollowedToAListedRealm() async throws {
        let (home, other) = (try await realm(), try await TestKDC.start(realm: "OTHER.TEST"))
        try await other.addService("HTTP/site.other.test")
        for kdc in [home, other] { try await kdc.administer("addprinc -pw between krbtgt/OTHER.TEST@EXAMPLE.TEST") }
        let app = try KerberosApp([home, other])
        let ticket = try await app.ticket("site.other.test", "ann@EXAMPLE.TEST", "secret")
        #expect(ticket.isNew && other.count("TGS_REQ") == 1)
        let alone = try KerberosApp([home], timeout: .seconds(2), others: ["OTHER.TEST": []])
        await #expect(throws: KerberosError(.kdcUnreachable, "")) {
            try await alone.ticket("site.other.test", "ann@EXAMPLE.TEST", "secret")
        }
        #expect(other.count("TGS_REQ") == 1)
        await app.loading.shutdown()
        await alone.loading.shutdown()
    }

    @Test func principalsShareNothing() async throws {
        let kdc = try await realm()
        try await kdc.addUser("bob", password: "hunter")
        let app = try KerberosApp([kdc])
        let (a, b) = (Principal("a"), Principal("b"))
        async let first = app.ticket("localhost", "ann@EXAMPLE.TEST", "secret", of: a)
        async let second = app.ticket("localhost", "bob@EXAMPLE.TEST", "hunter", of: b)
        _ = try await (first, second)
        #expect(try await app.kerberos.usersAtHand(of: a).map(\.name) == ["ann"])
        #expect(try await app.kerberos.usersAtHand(of: b).map(\.name) == ["bob"])
        #expect(try await app.kerberos.usersAtHand(of: .instance).isEmpty)
        // Using another principal's name gives no access to its tickets.
        await #expect(throws: KerberosError(.noTicket, "")) {
            try await app.ticket("localhost", "ann@EXAMPLE.TEST", nil, of: b)
        }
        try await app.kerberos.clear(of: a)
        #expect(try await app.kerberos.tickets().map(\.user) == ["bob@EXAMPLE.TEST", "bob@EXAMPLE.TEST"])
        await app.loading.shutdown()
    }

    @Test func anotherPasswordIsAnotherSignIn() async throws {
        let kdc = try await realm()
        let app = try KerberosApp([kdc])
        _ = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        await #expect(throws: KerberosError(.wrongPassword, "")) {
            try await app.ticket("localhost", "ann@EXAMPLE.TEST", "wrong")
        }
        await app.loading.shutdown()
    }

    /// Tickets are stored without the password with which they were obtained.
    @Test func aWrongPasswordDoesNotPassByStoredTickets() async throws {
        let (kdc, store) = (try await realm(), try await TestStore())
        let before = try KerberosApp([kdc], in: store.store)
        _ = try await before.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        await before.loading.shutdown()
        let after = try KerberosApp([kdc], in: store.store)
        #expect(try await !after.ticket("localhost", "ann@EXAMPLE.TEST", nil).isNew, "no password, nothing to check")
        #expect(kdc.count("AS_REQ") == 1)
        for _ in 1...2 {
            await #expect(throws: KerberosError(.wrongPassword, "")) {
                try await after.ticket("localhost", "ann@EXAMPLE.TEST", "wrong")
            }
            #expect(try await after.ticket("localhost", "ann@EXAMPLE.TEST", "secret").isNew)
            #expect(try await !after.ticket("localhost", "ann@EXAMPLE.TEST", "secret").isNew, "it is known by now")
            // As a lock does: what comes from the store after it has no password again.
            await after.kerberos.forget()
        }
        await after.loading.shutdown()
        store.close()
    }

    /// A sign-in takes the password first; another load may read the stored tickets before the KDC has answered.
    @Test func aPasswordThatComesBeforeTheStoredTicketsIsChecked() async throws {
        let (kdc, store) = (try await realm(), try await TestStore())
        let before = try KerberosApp([kdc], in: store.store)
        _ = try await before.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        await before.loading.shutdown()
        let after = try KerberosApp([kdc], in: store.store)
        let owner = TicketOwner(principal: .instance, user: try KerberosUser("ann@EXAMPLE.TEST"))
        try await after.kerberos.take(Redacted("wrong"), for: owner)
        #expect(try await after.kerberos.tickets().isEmpty)
        await #expect(throws: KerberosError(.wrongPassword, "")) {
            try await after.ticket("localhost", "ann@EXAMPLE.TEST", "wrong")
        }
        await after.loading.shutdown()
        store.close()
    }

    @Test func aKeytabGoesOnWithItsStoredTickets() async throws {
        let (kdc, store) = (try await realm(), try await TestStore())
        let keytab = try await kdc.addService("report/host.example")
        let before = try KerberosApp([kdc], in: store.store)
        let user = try await before.kerberos.useKeytab(at: keytab)
        #expect(try await before.ticket("localhost", "\(user)", nil).isNew)
        await before.loading.shutdown()
        for isReadFirst in [false, true] {
            let after = try KerberosApp([kdc], in: store.store)
            if isReadFirst { #expect(try await after.kerberos.tickets().count == 2) }
            try await after.kerberos.useKeytab(at: keytab)
            #expect(try await !after.ticket("localhost", "\(user)", nil).isNew)
            await after.loading.shutdown()
        }
        #expect(kdc.count("AS_REQ") == 1)
        store.close()
    }

    /// The first KDC holds both sign-ins until that with the second password has begun; the second KDC answers them.
    @Test func aWrongPasswordDoesNotPassByASignInThatIsUnderWay() async throws {
        let kdc = try await realm()
        let holding = try TestServer { $0.awaitEnd() }
        let app = try KerberosApp(
            [], others: ["EXAMPLE.TEST": [try holding.endpoint, try Endpoint("127.0.0.1:\(kdc.port)")]])
        let user = try KerberosUser("ann@EXAMPLE.TEST")
        let right = Task { try await app.kerberos.signIn(as: user, password: Redacted("secret")) }
        #expect(try await eventually { holding.acceptedConnections == 1 })
        let wrong = Task { try await app.kerberos.signIn(as: user, password: Redacted("wrong")) }
        #expect(try await eventually { holding.acceptedConnections == 2 })
        holding.stop()
        await #expect(throws: KerberosError(.wrongPassword, "")) { try await wrong.value }
        try await right.value
        await app.loading.shutdown()
    }

    @Test func twoHundredUsersAtOnce() async throws {
        let kdc = try await realm()
        let app = try KerberosApp([kdc])
        try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    _ = try await app.ticket(
                        "localhost", "ann@EXAMPLE.TEST", "secret", of: Principal("p\(number)"))
                }
            }
            try await group.waitForAll()
        }
        #expect(kdc.count("AS_REQ") == 200 && kdc.count("TGS_REQ") == 200)
        #expect(try await app.kerberos.tickets().count == 400)
        await app.loading.shutdown()
    }
}
