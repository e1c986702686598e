import ArgumentParser
import SallyportGateway

/// Invites a gateway into the fleet.
struct InviteCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Invite another gateway into this gateway's fleet.",
        discussion: """
            Prints the invitation that answers REQUEST, which 'sallyport gateway join' printed on the other machine. \
            Only that gateway can use it.
            """)
    @Argument(help: ArgumentHelp("What 'gateway join' printed on the other machine.", valueName: "request"))
    var text: String
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand { .invite(request: text) }
}

/// Makes a gateway that takes part in a fleet.
struct JoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Create a gateway's data as a part of a fleet that exists.",
        discussion: """
            Without INVITATION, prints a request; 'sallyport gateway invite REQUEST' on a gateway of the fleet answers \
            it with the invitation.
            """)
    @Argument(help: "What 'gateway invite' printed for this gateway's request.") var invitation: String?
    @OptionGroup var location: DataLocationOptions
    @Option(help: ArgumentHelp("The name at which apps reach it. Default: this machine's.", valueName: "host"))
    var name: String?
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let joined = try await GatewayHost(location).join(name: name, invitation: invitation)
        output.print(joined, joined.request ?? "joined the fleet as \(joined.name ?? "") in \(joined.data)")
    }
}
