#if PostgreSQL
import Glibc
import SallyportGateway
import TestSupport
import Testing

@testable import SallyportPostgreSQL

/// Hosts, addresses and ports that are not in the URL. Each test has a process of its own, since libpq reads the
/// process's environment.
@Suite(.timeLimit(.minutes(1))) struct PostgresEnvironmentTests {
    @Test func hostsOfTheEnvironmentAreDialledEachByItself() async {
        await #expect(processExitsWith: .success) {
            setenv("PGHOST", "db1,db2", 1)
            setenv("PGHOSTADDR", "10.0.0.1,", 1)
            setenv("PGPORT", "5433,5434", 1)
            let options = try PostgresOptions("dbname=fleet")
            try #require(options.hosts.map(\.place) == ["db1:5433", "db2:5434"])
            try #require(options.hosts.map(\.address) == ["10.0.0.1", ""])
            try #require(options.haveOthers)
        }
    }

    @Test func eachHostHasItsPortOfTheEnvironment() async {
        await #expect(processExitsWith: .success) {
            setenv("PGPORT", "5433,5434", 1)
            try #require(try PostgresOptions("host=db1,db2").hosts.map(\.place) == ["db1:5433", "db2:5434"])
            // As libpq does.
            let error = #expect(throws: GatewayError.self) { try PostgresOptions("host=db") }
            try #require(error?.code == .invalid)
        }
    }

    @Test func hostsOfAServiceAreDialledEachByItself() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryDirectory()
            let text = "[fleet]\nhost=db1,db2\nport=5433,5434\n[other]\nhost=db3\n"
            setenv("PGSERVICEFILE", try folder.write(text, to: "services"), 1)
            setenv("PGHOST", "elsewhere", 1)
            for url in ["service=fleet", "postgresql:///fleet?service=fleet"] {
                let options = try PostgresOptions(url)
                try #require(options.hosts.map(\.place) == ["db1:5433", "db2:5434"])
                try #require(options.haveOthers)
            }
            try #require(try PostgresOptions("service=fleet host=db4 port=1").hosts.map(\.place) == ["db4:1"])
            setenv("PGSERVICE", "other", 1)
            try #require(try PostgresOptions("dbname=fleet").hosts.map(\.place) == ["db3:5432"])
        }
    }

    /// With the address of the other one, the numbers of hosts and of addresses would differ.
    @Test func aHostIsDialledWithoutTheAddressesOfTheEnvironment() async {
        await #expect(processExitsWith: .success) {
            setenv("PGHOSTADDR", ",10.0.0.2", 1)
            let options = try PostgresOptions("host=/run/postgresql,db2")
            let parameters = options.parameters(for: options.hosts[0], at: "")
            try #require(parameters.first?.keyword == "dbname")
            try #require(parameters.first?.value == "host='' hostaddr=''")
        }
    }

    @Test func aServiceThatIsNotFoundIsRefused() async {
        await #expect(processExitsWith: .success) {
            setenv("PGSERVICEFILE", "/dev/null", 1)
            let error = #expect(throws: GatewayError.self) { try PostgresOptions("service=fleet") }
            try #require(error?.code == .invalid)
            try #require(error?.message.contains("\"fleet\"") == true)
        }
    }
}
#endif
