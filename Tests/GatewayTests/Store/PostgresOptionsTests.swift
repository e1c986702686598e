#if PostgreSQL
import Testing

@testable import SallyportPostgreSQL

/// What libpq is told of TLS.
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
        // libpq reads it by itself.
        #expect(try modes("host=db", ["PGSSLMODE": "require"]) == [nil])
    }

    @Test func aUnixSocketNeedsNoTLS() throws {
        #expect(try modes("host=/run/postgresql,@postgresql,db") == [nil, nil, "verify-full"])
    }
}
#endif
