#if PostgreSQL
import SallyportCore
import SallyportEventLoop
import SallyportGateway
import TestSupport
import Testing

@testable import SallyportPostgreSQL

/// Two servers that take writes: an old primary, which answers at once, and one that was promoted and logs in slowly.
@Suite(.timeLimit(.minutes(1))) struct PostgresDialerTests {
    private let folders: [TemporaryDirectory]
    private let servers: [PostgreSQL]
    private let dialer: PostgresDialer

    init() async throws {
        folders = [try TemporaryDirectory(), try TemporaryDirectory()]
        let address = try #require(IPAddress("127.0.0.1"))
        let identity = try TestAuthority(name: "Database CA").server(names: [], addresses: [address])
        let old = try await PostgreSQL.start(on: "127.0.0.1", in: folders[0], showing: identity)
        let new = try await PostgreSQL.start(
            on: "127.0.0.1", in: folders[1], showing: identity, isPromoted: true, settings: ["pre_auth_delay=3"])
        servers = [old, new]
        let password = PostgreSQL.password.replacing(" ", with: "%20")
        let hosts = servers.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        dialer = PostgresDialer(
            options: try PostgresOptions(
                "postgresql://\(PostgreSQL.user):\(password)@\(hosts)/postgres?sslmode=require"),
            loop: EventLoopGroup.shared.next())
    }

    @Test func aTransactionDoesNotWaitForAHostThatIsSlow() async throws {
        let connection = try await dialer.connect()
        #expect(await connection.timeline == 1)
        await connection.close()
    }

    @Test func aSurveyWaitsForTheNewPrimary() async throws {
        let connection = try await dialer.connect(within: PostgresDialer.limit)
        #expect(await connection.timeline == 2)
        await connection.close()
    }
}

@Suite(.timeLimit(.minutes(1))) struct HostLookupTests {
    @Test func anAddressAndASocketAreNotLookedUp() async throws {
        for (text, address) in [
            ("hostaddr=192.0.2.7 host=database.example", "192.0.2.7"), ("host=/run/postgresql", ""),
            ("host=fe80::1%eth0", "fe80::1%eth0"),
        ] {
            let host = try #require(PostgresOptions(text).hosts.first)
            #expect(try await HostLookup.addresses(of: host) == [address])
        }
    }

    @Test func aNameHasItsAddresses() async throws {
        let host = try #require(PostgresOptions("host=localhost").hosts.first)
        #expect(try await HostLookup.addresses(of: host).contains { ["127.0.0.1", "::1"].contains($0) })
    }

    private static let counts: [(addresses: [String], hosts: Int)] = [
        ([], 1), ([""], 1), (["10.0.0.1"], 1), (["10.0.0.1", "fd00::1"], 1), (["10.0.0.1", "10.0.0.1"], 1),
        (["10.0.0.1", "10.0.0.2"], 2), (["10.0.0.1", "fd00::1", "fd00::2", "fd00::3"], 3),
    ]

    @Test(arguments: counts)
    func aNameWithSeveralAddressesOfAKindLeadsToSeveralHosts(_ addresses: [String], _ hosts: Int) {
        #expect(HostLookup.count(of: addresses) == hosts)
    }

    @Test func aDatabaseAtOneAddressIsOnOneHost() async throws {
        #expect(try await PostgresDatabase("host=10.0.0.1").hostCount == 1)
        #expect(try await PostgresDatabase("host=10.0.0.1,10.0.0.2").hostCount == 2)
    }

    /// A look-up in the resolver goes on when its task is cancelled.
    @Test func aLookUpThatIsSlowDoesNotHoldUpTheCount() async throws {
        let hosts = try PostgresOptions("host=db").hosts
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        let count = await HostLookup.hostCount(of: hosts, within: .milliseconds(50)) { _ in
            await Task { for await _ in answers {} }.value
            return ["10.0.0.1", "10.0.0.2"]
        }
        #expect(count == 1)
        answer.finish()
    }

    @Test func onlyOneNameAloneIsLookedUpForTheCount() async throws {
        let one = try PostgresOptions("host=db").hosts
        let found = await HostLookup.hostCount(of: one) { _ in ["10.0.0.1", "10.0.0.2"] }
        #expect(found == 2)
        let several = try PostgresOptions("host=db1,db2,db3").hosts
        let count = await HostLookup.hostCount(of: several) { host in
            Issue.record("\(host.name) was looked up.")
            return []
        }
        #expect(count == 3)
    }

    @Test func anUnknownNameIsUnreachable() async throws {
        let host = try #require(PostgresOptions("host=no-such-name.invalid").hosts.first)
        await #expect(throws: GatewayError(.unreachable, "")) { try await HostLookup.addresses(of: host) }
    }
}
#endif
