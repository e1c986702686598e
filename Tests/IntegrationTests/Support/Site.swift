import Foundation
import SallyportBase
import TestSupport
import Testing

/// A gateway that runs, with a user, an app and, where wanted, a server inside; and what a test does with it.
final class Site: Sendable {
    static let user = "ann@corp.example"
    static let app = "com.example.report"
    static let version = "1.0.0.0"

    let folder: TemporaryDirectory
    private let running: Lock<ChildProcess>
    var gateway: ChildProcess { running.withLock { $0 } }

    struct Ready: Decodable {
        var control: String
        var relay: String
    }
    let ready: Ready

    var data: String { folder.file("gateway") }

    /// - Parameters:
    ///   - intranet: listed as the app's server, where it leads inside.
    ///   - network: where the gateway runs; it asks the first address inside for names then.
    ///   - name: the gateway's; where it runs by default.
    static func start(
        _ intranet: Intranet? = nil, logLevel: String = "notice", in network: NetworkNamespace? = nil,
        named name: String? = nil
    ) async throws -> Site {
        let site = try await Site(logLevel: logLevel, in: network, named: name)
        let file = try site.folder.write(declaration(intranet), to: "site.yaml")
        try await site.admin("apply", "-f", file)
        return site
    }

    /// The declaration of the user, the app and the server: one command instead of four, each of which would start a
    /// program.
    static func declaration(_ intranet: Intranet? = nil) -> String {
        let server = intranet.map {
            "{server: \"\(Intranet.name):\($0.port)\", app: \(app), address: \(Intranet.address)}"
        }
        return """
            apps: [{id: \(app), versions: [\(version)]}]
            users: [{name: \(user), entitlements: [{app: \(app), versions: [\(version)]}]}]
            servers: [\(server ?? "")]
            """
    }

    private init(logLevel: String, in network: NetworkNamespace?, named name: String?) async throws {
        folder = try TemporaryDirectory()
        let name = name ?? network?.address ?? "localhost"
        let made = try await sallyport("gateway", "init", "--data", folder.file("gateway"), "--name", name)
        try #require(made.status == 0, "\(made.error)")
        let address = network?.address ?? "127.0.0.1"
        let way = network.map { ["--dns", $0.inside[0]] } ?? ["--egress", Intranet.egress]
        let gateway = try await Self.runGateway(
            folder.file("gateway"), control: "\(address):\(LoopbackPort.free())",
            relay: "\(address):\(LoopbackPort.free())",
            way + ["--log-level", logLevel], in: network)
        running = Lock(gateway)
        ready = try JSONDecoder().decode(Ready.self, from: Data(gateway.output.utf8))
    }

    /// Returns when it is ready.
    private static func runGateway(
        _ data: String, control: String, relay: String, _ options: [String], in network: NetworkNamespace? = nil
    ) async throws -> ChildProcess {
        let gateway = try ChildProcess(
            Programs.gateway,
            ["gateway", "run", "--data", data, "--control", control, "--relay", relay, "--json"] + options,
            in: network)
        let isReady = try await eventually(within: .seconds(30)) {
            gateway.output.hasSuffix("\n") || !gateway.isRunning
        }
        try #require(isReady && gateway.isRunning, "\(gateway.error)")
        return gateway
    }

    func stopGateway(by signal: Int32 = SIGTERM) async throws {
        gateway.signal(signal)
        _ = try await gateway.outcome(within: .seconds(30))
    }

    /// Runs a gateway on this machine where one was that has ended.
    ///
    /// - Parameter data: its own where nil.
    func startGateway(_ options: String..., data: String? = nil) async throws {
        try await startGateway(options, data: data)
    }

    func startGateway(_ options: [String], data: String? = nil) async throws {
        let gateway = try await Self.runGateway(
            data ?? self.data, control: ready.control, relay: ready.relay, ["--egress", Intranet.egress] + options)
        running.withLock { $0 = gateway }
    }

    deinit { gateway.signal(SIGKILL) }

    // MARK: The administrator

    @discardableResult
    func admin(_ arguments: String...) async throws -> Outcome {
        let outcome = try await tryAdmin(arguments)
        try #require(outcome.status == 0, "admin \(arguments): \(outcome.error)")
        return outcome
    }

    func tryAdmin(_ arguments: [String]) async throws -> Outcome {
        try await ChildProcess(Programs.built("sallyport"), ["admin"] + arguments + ["--data", data]).outcome()
    }

    /// - Parameter order: `block`, `lock` or `wipe`, which is confirmed, or the end of one.
    func withdraw(_ order: String, _ instance: String) async throws {
        if order == "wipe" { try await admin(order, instance, "--yes") } else { try await admin(order, instance) }
    }

    func link(user: String = Site.user, app: String = Site.app) async throws -> String {
        let issued = try await admin("key", "issue", user, app)
        return issued.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    struct Instance: Decodable {
        var instance: String
        var user: String
        var entitlement: String
        var version: String
        var status: String
        /// RFC 3339.
        var lastContact: String
    }

    func instances() async throws -> [Instance] { try await admin("instances", "--json").json([Instance].self) }

    // MARK: The app

    /// An activated store.
    func activatedStore(_ name: String = "app") async throws -> String {
        let store = folder.file(name)
        let outcome = try await activate(link(), into: store)
        try #require(outcome.status == 0, "\(outcome.error)")
        return store
    }

    func activate(_ link: String, into store: String, _ options: String...) async throws -> Outcome {
        try await ChildProcess(
            Programs.built("sallyport"), ["activate", "-", "--store", store, "--json"] + options, input: link
        ).outcome()
    }

    func fetch(_ url: String, _ store: String, _ options: String..., limit: Duration = .seconds(60)) async throws
        -> Outcome
    {
        try await ChildProcess(Programs.built("sallyport"), ["fetch", url, "--store", store] + options)
            .outcome(within: limit)
    }
}

/// `{"error":{…}}` on standard error.
struct ToldFailure: Decodable {
    struct Details: Decodable {
        var code: Int
        var name: String
        var message: String
    }
    var error: Details
}

extension Outcome {
    /// The failure that was told under `--json`: the last line, since warnings may stand before it.
    func failure() throws -> ToldFailure.Details {
        let line = error.split(separator: "\n").last.map(String.init) ?? ""
        return try JSONDecoder().decode(ToldFailure.self, from: Data(line.utf8)).error
    }
}
