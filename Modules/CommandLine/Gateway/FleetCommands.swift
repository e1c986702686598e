import ArgumentParser
import SallyportGateway

/// Invites a gateway into the fleet.
struct InviteCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Invite another gateway, or a relay, into this gateway's fleet.",
        discussion: """
            Prints the invitation that answers REQUEST, which 'sallyport gateway join' printed on the other machine. \
            Only that gateway, or that relay, can use it.
            """)
    @Argument(help: ArgumentHelp("What 'gateway join' printed on the other machine.", valueName: "request"))
    var text: String
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand { .invite(request: text) }
}

/// Makes a gateway that takes part in a fleet.
struct JoinCommand: AsyncParsableCommand, CheckedArguments {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Create a gateway's data as a part of a fleet that exists.",
        discussion: """
            Without INVITATION, prints a request; 'sallyport gateway invite REQUEST' on a gateway of the fleet answers \
            it with the invitation. A relay has a folder of its own, without the fleet's keys: it is named with the \
            request, by --role relay.
            """)
    @Argument(help: "What 'gateway invite' printed for this gateway's request.") var invitation: String?
    @OptionGroup var location: DataLocationOptions
    @Option(help: ArgumentHelp("The name at which apps reach it. Default: this machine's.", valueName: "host"))
    var name: String?
    @Option(help: "relay, for a request of a relay on a machine of its own. Default: both.")
    var role = RoleArgument.both
    @Option(help: "With --role relay: the cluster that it belongs to. Default: main.")
    var cluster: String?
    @OptionGroup var output: OutputOptions

    func check() throws {
        guard cluster == nil || role == .relay else { throw ValidationError("--cluster goes with --role relay.") }
    }

    func run() async throws {
        let joined = try await GatewayHost(location).join(
            name: name, invitation: invitation, asRelayOf: role == .relay ? cluster ?? "main" : nil)
        output.print(joined, joined.request ?? "joined the fleet as \(joined.name ?? "") in \(joined.data)")
    }
}
