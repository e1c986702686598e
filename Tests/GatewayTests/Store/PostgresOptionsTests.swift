#if PostgreSQL
import Testing

@testable import SallyportPostgreSQL

/// What libpq is told of TLS and of the port.
@Suite struct PostgresOptionsTests {
    /// The `sslmode` of each host.
    private func modes(_ text: String, _ environment: [String: String] = [:]) throws -> [String?] {
        let options = try PostgresOptions(text) { environment[$0] }
        return options.hosts.map { host in
            options.parameters(for: host, at: host.address).first { $0.keyword == "sslmode" }?.value
        }
    }

    @Test(arguments: [
        "postgresql://db/fleet", "postgresql://db1,db2:5433/fleet", "postgresql://db/fleet?sslmode=", "host=db",
        "hostaddr=127.0.0.1", "host=/run/postgresql hostaddr=127.0.0.1", "postgresql:///fleet", "dbname=fleet",
    ])
    func withoutAModeAServerIsVerified(_ text: String) throws {
        for environment in [[:], ["PGSSLMODE": ""]] {
            #expect(try modes(text, environment).allSatisfy { $0 == "verify-full" })
        }
    }

    @Test func theModeThatIsGivenHolds() throws {
        #expect(try modes("postgresql://db/fleet?sslmode=disable") == ["disable"])
        #expect(try modes("host=db1,db2 sslmode=verify-ca", ["PGSSLMODE": "disable"]) == ["verify-ca", "verify-ca"])
        // Given to libpq, which would prefer that of a service file to the environment's.
        #expect(try modes("host=db", ["PGSSLMODE": "require"]) == ["require"])
    }

    private func ports(_ text: String) throws -> [String?] {
        let options = try PostgresOptions(text)
        return options.hosts.map { host in
            options.parameters(for: host, at: host.address).first { $0.keyword == "port" }?.value
        }
    }

    @Test(arguments: [
        "dbname=fleet", "postgresql://db/fleet", "host=db", "hostaddr=127.0.0.1", "host=/run/postgresql",
        "host=db port=",
    ])
    func withoutAPortItIsPostgreSQLsOwn(_ text: String) throws { #expect(try ports(text) == ["5432"]) }

    @Test func aPortThatIsGivenHolds() throws {
        #expect(try ports("dbname=fleet port=6432") == ["6432"])
        #expect(try ports("postgresql://db1,db2:5433/fleet") == ["5432", "5433"])
        #expect(try ports("host=db1,db2 port=6432") == ["6432", "6432"])
    }

    @Test func messagesNameTheHostAndThePort() throws {
        for (text, place) in [
            ("host=db port=6432", "db:6432"), ("host=db", "db:5432"), ("hostaddr=192.0.2.7 port=1", "192.0.2.7:1"),
            ("dbname=fleet", "libpq's default host:5432"),
        ] {
            #expect(try PostgresOptions(text).hosts.map(\.place) == [place])
        }
    }

    /// Of a name, all addresses are dialled, and any of them may be the newer primary.
    @Test(arguments: ["host=db", "postgresql://db/fleet", "host=10.0.0.1,10.0.0.2"])
    func othersAreLookedForBehindANameOrAList(_ text: String) throws { #expect(try PostgresOptions(text).haveOthers) }

    @Test(arguments: [
        "host=10.0.0.1", "hostaddr=10.0.0.1", "host=db hostaddr=10.0.0.1", "host=/run/postgresql", "host=@postgresql",
        "postgresql://[fd00::1]/fleet", "host=fe80::1%eth0", "dbname=fleet",
    ])
    func thereIsNoOtherBesideOneAddressOrASocket(_ text: String) throws {
        #expect(try !PostgresOptions(text).haveOthers)
    }

    @Test func aUnixSocketNeedsNoTLS() throws {
        #expect(try modes("host=/run/postgresql,@postgresql,db") == [nil, nil, "verify-full"])
    }
}
#endif
