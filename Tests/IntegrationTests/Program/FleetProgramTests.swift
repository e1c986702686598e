import Foundation
import SallyportCore
import TestSupport
import Testing

/// Gateways that share a PostgreSQL, by the program's commands.
@Suite(.timeLimit(.minutes(2))) struct FleetProgramTests {
    private let folder: TemporaryDirectory
    private let server: PostgreSQL
    private let url: String

    init() async throws {
        folder = try TemporaryDirectory()
        let authority = try TestAuthority(name: "Database CA")
        let address = try #require(IPAddress("127.0.0.1"))
        server = try await PostgreSQL.start(
            on: "127.0.0.1", in: folder, showing: authority.server(names: [], addresses: [address]))
        let file = try folder.write(authority.pem, to: "database-ca.pem")
        let password = try #require(
            PostgreSQL.password.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        url =
            "postgresql://\(PostgreSQL.user):\(password)@127.0.0.1:\(server.port)/postgres"
            + "?sslmode=verify-full&sslrootcert=\(file)"
    }

    private func program(_ arguments: [String], input: String? = nil) async throws -> Outcome {
        try await ChildProcess(Programs.built("sallyport"), arguments, input: input).outcome(within: .seconds(60))
    }

    private func words(_ arguments: String...) async throws -> String {
        let outcome = try await program(arguments)
        try #require(outcome.status == 0, "\(arguments): \(outcome.error)")
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func run(_ name: String) async throws -> ChildProcess {
        let gateway = try ChildProcess(
            Programs.gateway,
            [
                "gateway", "run", "--data", folder.file(name), "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0",
                "--json",
            ])
        let isReady = try await eventually(within: .seconds(30)) {
            gateway.output.hasSuffix("\n") || !gateway.isRunning
        }
        try #require(isReady && gateway.isRunning, "\(gateway.error)")
        return gateway
    }

    @Test func whatOneGatewayChangesTheOtherKnowsAndItOutlivesTheFirst() async throws {
        let made = try await words(
            "gateway", "init", "--data", folder.file("a"), "--name", "localhost", "--database", url)
        #expect(made.contains("recovery key, shown only now: "))
        let first = try await run("a")
        defer { first.signal(SIGKILL) }
        let request = try await words("gateway", "join", "--data", folder.file("b"))
        let invitation = try await words("gateway", "invite", request, "--data", folder.file("a"))
        let joined = try await words(
            "gateway", "join", invitation, "--data", folder.file("b"), "--name", "localhost")
        #expect(joined.hasPrefix("joined the fleet as localhost in "))
        let second = try await run("b")
        defer { second.signal(SIGKILL) }
        _ = try await words("admin", "user", "add", "ann@corp.example", "--data", folder.file("a"))
        let isKnown = try await eventually(within: .seconds(20)) {
            try await words("admin", "user", "list", "--data", folder.file("b")) == "ann@corp.example"
        }
        #expect(isKnown)
        first.signal(SIGKILL)
        _ = try await words("admin", "user", "add", "bob@corp.example", "--data", folder.file("b"))
        #expect(
            try await words("admin", "user", "list", "--data", folder.file("b")) == "ann@corp.example\nbob@corp.example"
        )
    }

    @Test func anInvitationIsForTheGatewayThatAskedForIt() async throws {
        _ = try await words("gateway", "init", "--data", folder.file("a"), "--name", "localhost", "--database", url)
        let request = try await words("gateway", "join", "--data", folder.file("b"))
        #expect(try await words("gateway", "join", "--data", folder.file("b")) == request)
        let invitation = try await words("gateway", "invite", request, "--data", folder.file("a"))
        #expect(!invitation.contains("postgresql"))
        _ = try await words("gateway", "join", "--data", folder.file("c"))
        let stranger = try await program(
            ["gateway", "join", invitation, "--data", folder.file("c"), "--name", "c.example"])
        #expect(stranger.status != 0 && stranger.error.contains("request of another gateway"))
    }

    @Test func theFleetIsShownWhileAGatewayRuns() async throws {
        _ = try await words("gateway", "init", "--data", folder.file("a"), "--name", "localhost", "--database", url)
        let gateway = try await run("a")
        let told = try await words("gateway", "fleet", "status", "--data", folder.file("a"))
        gateway.signal(SIGKILL)
        let lines = told.split(separator: "\n")
        #expect(lines.first?.hasPrefix("store     at revision ") == true, "\(told)")
        #expect(told.contains("localhost (this)") && told.contains("running"), "\(told)")
        #expect(lines.last == "no relay is enrolled", "\(told)")
    }

    @Test func theRecoveryKeyMakesAGatewayOfTheFleet() async throws {
        let made = try await words(
            "gateway", "init", "--data", folder.file("a"), "--name", "localhost", "--database", url)
        _ = try await words("admin", "user", "add", "ann@corp.example", "--data", folder.file("a"))
        let key = try #require(made.split(separator: "recovery key, shown only now: ").last)
        let file = try folder.write("\(key)\n", to: "recovery-key")
        let options = [
            "--database", url, "--recovery-key-file", file, "--data", folder.file("b"), "--name", "localhost",
        ]
        let recovered = try await program(["gateway", "fleet", "recover"] + options)
        #expect(recovered.status == 0 && recovered.output.hasPrefix("joined the fleet as localhost in "))
        #expect(try await words("admin", "user", "list", "--data", folder.file("b")) == "ann@corp.example")
    }

    @Test func aRestoredDatabaseIsPutIntoForceByCommand() async throws {
        _ = try await words("gateway", "init", "--data", folder.file("a"), "--name", "localhost", "--database", url)
        let told = try await words("gateway", "fleet", "restored", "--data", folder.file("a"))
        #expect(told.hasSuffix("nothing was changed: --yes puts it into force"), "\(told)")
        let done = try await words("gateway", "fleet", "restored", "--yes", "--data", folder.file("a"))
        #expect(done.contains("it is in force from revision 1099511627776 on"), "\(done)")
        #expect(done.hasSuffix("0 unused access keys destroyed: start the gateways again"), "\(done)")
        _ = try await words("admin", "user", "add", "ann@corp.example", "--data", folder.file("a"))
        let again = try await words("gateway", "fleet", "restored", "--data", folder.file("a"))
        #expect(again.contains("and this gateway has seen revision 10995"), "\(again)")
    }

    /// Runs SQL as an administrator of the database does.
    private func psql(_ url: String, _ statements: String) async throws -> Outcome {
        let script = "psql -X -q -v ON_ERROR_STOP=1 -d \"$0\" -c \"$1\""
        return try await ChildProcess("/bin/bash", ["-c", script, url, statements]).outcome(within: .seconds(30))
    }

    @Test func theTablesMayBelongToAnotherRoleThanTheGateways() async throws {
        let made = try await psql(url, "CREATE ROLE fleet_control LOGIN PASSWORD 'more'; CREATE ROLE fleet_auditor")
        try #require(made.status == 0, "\(made.error)")
        let start = try #require(url.range(of: "//")), end = try #require(url.range(of: "@"))
        let control = url.replacingCharacters(in: start.upperBound..<end.lowerBound, with: "fleet_control:more")
        let data = folder.file("a")
        _ = try await words(
            "gateway", "init", "--data", data, "--name", "localhost", "--database", control, "--database-owner", url)
        let early = try await program(["admin", "user", "add", "ann@corp.example", "--data", data])
        #expect(early.status != 0 && early.error.contains("`gateway fleet roles` prints the rights"), "\(early.error)")
        let rights = try await words(
            "gateway", "fleet", "roles", "--control", "fleet_control", "--auditor", "fleet_auditor")
        let granted = try await psql(url, rights)
        try #require(granted.status == 0, "\(granted.error)")
        _ = try await words("admin", "user", "add", "ann@corp.example", "--data", data)
        #expect(try await words("admin", "audit", "verify", "--data", data).contains("sound"))
        let removal = try await psql(control, "DELETE FROM audit_admin")
        #expect(removal.status != 0 && removal.error.contains("permission denied"), "\(removal.error)")
        let upgraded = try await words("gateway", "fleet", "upgrade", "--database-owner", url, "--data", data)
        #expect(upgraded.hasSuffix("give its roles their rights by what 'gateway fleet roles' prints"), "\(upgraded)")
    }

    @Test func aGatewayIsToldTheNewPasswordOfTheDatabase() async throws {
        let data = folder.file("a")
        _ = try await words("gateway", "init", "--data", data, "--name", "localhost", "--database", url)
        let gateway = try await run("a")
        let move = ["gateway", "fleet", "move", "--data", data, "--database"]
        let beside = try await program(move + [url])
        #expect(beside.status == 75 && beside.error.contains("end the gateway that runs on it"), "\(beside.error)")
        gateway.signal(SIGKILL)
        #expect(try await eventually { !gateway.isRunning })
        let user = try #require(url.firstMatch(of: /\/\/([a-z]+)(:[^@]*)?@/))
        let changed = try await psql(url, "ALTER ROLE \(user.1) PASSWORD 'changed'")
        try #require(changed.status == 0, "\(changed.error)")
        #expect(try await program(["admin", "user", "list", "--data", data]).status != 0)
        let new = url.replacing(user.0, with: "//\(user.1):changed@")
        // In no process's arguments, where every user of the machine could read the password.
        let moved = try await program(move + ["-"], input: "\(new)\n")
        #expect(moved.output.hasPrefix("the fleet's database is there, at revision "), "\(moved)")
        #expect(try await program(["admin", "user", "list", "--data", data]).status == 0)
    }

    @Test func withoutAModeInTheURLTheServerIsVerified() async throws {
        let (authority, other) = (folder.file("database-ca.pem"), try TestAuthority(name: "Another CA"))
        let open = url.replacing("sslmode=verify-full&", with: "")
        let byName = open.replacing("@127.0.0.1:", with: "@localhost:") + "&hostaddr=127.0.0.1"
        let stranger = open.replacing(authority, with: try folder.write(other.pem, to: "other-ca.pem"))
        for (number, (text, reason)) in [(byName, "host name"), (stranger, "certificate verify failed")].enumerated() {
            let outcome = try await program(
                ["gateway", "init", "--data", folder.file("\(number)"), "--name", "localhost", "--database", text])
            #expect(outcome.status != 0 && outcome.error.contains(reason), "\(outcome.error)")
        }
        _ = try await words("gateway", "init", "--data", folder.file("a"), "--name", "localhost", "--database", open)
    }

    @Test func aSecondFleetInOneDatabaseIsRefused() async throws {
        _ = try await words("gateway", "init", "--data", folder.file("a"), "--name", "localhost", "--database", url)
        let again = try await program(
            ["gateway", "init", "--data", folder.file("b"), "--name", "localhost", "--database", url])
        #expect(
            again.status != 0 && again.error.contains("There is a fleet in the database already"), "\(again.error)")
    }

    @Test func aDatabaseThatIsNotThereIsNamedWithoutItsPassword() async throws {
        let nowhere = url.replacing(":\(server.port)/", with: ":1/")
        let outcome = try await program(
            ["gateway", "init", "--data", folder.file("a"), "--name", "localhost", "--database", nowhere])
        #expect(outcome.status != 0 && outcome.error.contains("127.0.0.1:1") && !outcome.error.contains("figures"))
    }
}
