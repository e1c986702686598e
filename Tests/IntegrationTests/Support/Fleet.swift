import Foundation
import SallyportBase
import SallyportCore
import TestSupport
import Testing

/// Gateways that run and share a PostgreSQL, with a user, an app and a server inside.
final class Fleet: Sendable {
    let folder: TemporaryDirectory
    let intranet: Intranet
    let gateways: [ChildProcess]
    let ready: [Site.Ready]
    /// Of the database, as a role that may do everything.
    let database: String
    private let server: PostgreSQL

    /// HOST:PORT as apps know a gateway's control listener.
    func control(_ number: Int) throws -> String { "localhost:\(try Endpoint(ready[number].control).port)" }

    static func start(of count: Int = 2) async throws -> Fleet {
        let (folder, intranet) = (try TemporaryDirectory(), try await Intranet.start())
        let authority = try TestAuthority(name: "Database CA")
        let address = try #require(IPAddress("127.0.0.1"))
        let server = try await PostgreSQL.start(
            on: "127.0.0.1", in: folder, showing: authority.server(names: [], addresses: [address]))
        let file = try folder.write(authority.pem, to: "database-ca.pem")
        let password = try #require(PostgreSQL.password.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let url =
            "postgresql://\(PostgreSQL.user):\(password)@127.0.0.1:\(server.port)/postgres"
            + "?sslmode=verify-full&sslrootcert=\(file)"
        let first = folder.file("gateway0")
        try await words("gateway", "init", "--data", first, "--name", "localhost", "--database", url)
        for number in 1..<count {
            let data = folder.file("gateway\(number)")
            let request = try await words("gateway", "join", "--data", data)
            let invitation = try await words("gateway", "invite", request, "--data", first)
            try await words("gateway", "join", invitation, "--data", data, "--name", "localhost")
        }
        let declaration = try folder.write(Site.declaration(intranet), to: "site.yaml")
        try await words("admin", "apply", "-f", declaration, "--data", first)
        return try await Fleet(folder, intranet, server, url, count)
    }

    private init(
        _ folder: TemporaryDirectory, _ intranet: Intranet, _ server: PostgreSQL, _ database: String, _ count: Int
    ) async throws {
        (self.folder, self.intranet, self.server, self.database) = (folder, intranet, server, database)
        var gateways: [ChildProcess] = []
        for number in 0..<count {
            gateways.append(
                try await Self.run(
                    folder.file("gateway\(number)"), "--control", "127.0.0.1:\(LoopbackPort.free())", "--relay",
                    "127.0.0.1:\(LoopbackPort.free())"))
        }
        self.gateways = gateways
        ready = try gateways.map { try JSONDecoder().decode(Site.Ready.self, from: Data($0.output.utf8)) }
    }

    deinit { for gateway in gateways { gateway.signal(SIGKILL) } }

    /// A gateway, or a relay, that is ready.
    static func run(_ data: String, _ options: String...) async throws -> ChildProcess {
        let gateway = try ChildProcess(
            Programs.gateway,
            ["gateway", "run", "--data", data, "--egress", Intranet.egress, "--json"] + options)
        let isReady = try await eventually(within: .seconds(30)) {
            gateway.output.hasSuffix("\n") || !gateway.isRunning
        }
        try #require(isReady && gateway.isRunning, "\(gateway.error)")
        return gateway
    }

    @discardableResult
    static func words(_ arguments: String...) async throws -> String {
        let outcome = try await ChildProcess(Programs.built("sallyport"), arguments).outcome(within: .seconds(60))
        try #require(outcome.status == 0, "\(arguments): \(outcome.error)")
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Carries out an administrator's command at one gateway.
    @discardableResult
    func admin(_ number: Int, _ arguments: String...) async throws -> String {
        let outcome = try await ChildProcess(
            Programs.built("sallyport"), ["admin"] + arguments + ["--data", folder.file("gateway\(number)")]
        ).outcome(within: .seconds(60))
        try #require(outcome.status == 0, "\(arguments): \(outcome.error)")
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
