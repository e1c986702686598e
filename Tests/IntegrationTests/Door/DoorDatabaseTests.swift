import Foundation
import TestSupport
import Testing

/// psql through `sallyport proxy -L` to a real PostgreSQL inside.
@Suite(.timeLimit(.minutes(2))) struct DoorDatabaseTests {
    private struct Database {
        let fixture: DoorFixture
        let door: OpenDoor
        let server: PostgreSQL

        static func start() async throws -> Database {
            let fixture = try await DoorFixture.start()
            let server = try await PostgreSQL.start(
                on: Intranet.address, in: fixture.inside.folder, showing: fixture.inside.identity)
            try await fixture.list(server.port)
            let door = try await fixture.openDoor(
                "-L", "0:\(Intranet.name):\(server.port)", "-L", "0:payroll.corp.example:5432")
            return Database(fixture: fixture, door: door, server: server)
        }

        /// psql asks the door's port, and wants the certificate of the server's name.
        func psql(_ command: String, at port: UInt16? = nil, as name: String = Intranet.name) throws -> ChildProcess {
            let port = port ?? door.forwardedPorts[0]
            let place = "hostaddr=127.0.0.1 port=\(port) host=\(name) dbname=postgres user=\(PostgreSQL.user)"
            let trust = "sslmode=verify-full sslrootcert=\(fixture.inside.authorityFile) connect_timeout=10"
            return try ChildProcess(
                "/usr/bin/env", ["psql", "--no-psqlrc", "-w", "-At", "-c", command, "\(place) \(trust)"],
                environment: ["PGPASSWORD": PostgreSQL.password])
        }
    }

    @Test func psqlReachesAListedServerAndVerifiesItsName() async throws {
        let database = try await Database.start()
        let query = "select client_addr, 6 * 7, (select ssl from pg_stat_ssl where pid = pg_backend_pid()) "
        let asked = try await database.psql(query + "from pg_stat_activity where pid = pg_backend_pid()")
            .outcome()
        #expect(asked.status == 0 && asked.output == "\(Intranet.egress)|42|t\n", "\(asked.error)")
        let wrong = try await database.psql("select 1", as: "other.corp.example").outcome()
        #expect(wrong.status == 2 && wrong.error.contains("does not match host name"), "\(wrong.error)")
        let unlisted = try await database.psql("select 1", at: database.door.forwardedPorts[1])
            .outcome()
        #expect(unlisted.status == 2, "\(unlisted.error)")
        #expect(try await eventually { database.door.records.count == 3 })
        let records = database.door.records
        #expect(records.allSatisfy { $0.form == "forward" })
        // A tunnel is recorded at its end, which may come after that of a later one.
        let refused = records.filter { $0.target == "payroll.corp.example:5432" }
        #expect(refused.count == 1 && refused.first?.route == nil)
    }

    @Test func aWipeEndsASessionOfPsqlWithinASecond() async throws {
        let database = try await Database.start()
        let session = try database.psql("select pg_sleep(60)")
        let counting = "select count(*) from pg_stat_activity where query like '%pg_sleep(60)'"
        #expect(
            try await eventually {
                try await database.psql(counting).outcome().output == "1\n"
            })
        #expect(session.isRunning)
        try await database.fixture.wipe()
        #expect(try await eventually(within: Soak.second) { !session.isRunning })
        let outcome = try await session.outcome()
        #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome.error)")
        #expect(outcome.error.contains("server closed the connection"), "\(outcome.error)")
        #expect(try await eventually { database.door.records.contains { $0.end == "withdrawn" } })
        let again = try await database.psql("select 1").outcome()
        #expect(again.status == 2, "\(again.output)")
    }
}
