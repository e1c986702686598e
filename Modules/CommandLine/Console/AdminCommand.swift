import ArgumentParser
import SallyportGateway

/// The administrator's commands.
struct AdminCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Manage users, apps, policies, servers, routes and instances.",
        discussion: """
            Connects to the running gateway by a Unix socket in its data directory, or opens the directory itself if \
            no gateway runs. The whole configuration can be one file: see 'admin show' and 'admin apply'.
            """,
        subcommands: [
            UserCommand.self, AppCommand.self, PolicyCommand.self, EntitleCommand.self, UnentitleCommand.self,
            KeyCommand.self, ServerCommand.self, RouteCommand.self, TLSCommand.self, ClusterCommand.self,
            FleetGatewayCommand.self,
            RealmCommand.self, AuthCommand.self, LeaseCommand.self, DefaultDomainsCommand.self,
            ApplyCommand.self, ShowCommand.self, RelayCommand.self, InstancesCommand.self, BlockCommand.self,
            UnblockCommand.self, LockCommand.self, UnlockCommand.self, WipeCommand.self, AuditCommand.self,
        ])
}

/// A command that sends one request to the gateway.
protocol ConsoleCommand: AsyncParsableCommand {
    var location: DataLocationOptions { get }
    var output: OutputOptions { get }
    /// The request.
    func request() throws -> AdministrationCommand
    /// The text that is printed for an acknowledgement.
    var acknowledgement: String { get }
}

extension ConsoleCommand {
    var acknowledgement: String { "done" }

    func run() async throws {
        let request = try request()
        let console = try Console(location)
        var reply = try await console.perform(request)
        if case .needsConfirmation(let instances) = reply, let confirmed = request.confirmed {
            try Confirmation.obtain(toWipe: instances)
            reply = try await console.perform(confirmed)
        }
        try ConsoleReply(reply).print(acknowledgement, to: output)
    }
}
