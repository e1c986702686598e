import ArgumentParser
import SallyportGateway

struct ApplyCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Make the gateway as a YAML file says, in one transaction.",
        discussion: "What the file does not name stays, unless --prune is given. 'admin show' prints such a file.")
    @Option(name: .short, help: "The file, '-' for standard input; at most 1 MiB.") var file: String
    @Flag(help: "Remove what the file does not name.") var prune = false
    @Flag(help: "Show the difference and change nothing.") var dryRun = false
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() throws -> AdministrationCommand {
        .apply(yaml: try InputFile.text(file), prune: prune, dryRun: dryRun, confirmed: confirmation.yes)
    }
}

struct ShowCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print the gateway's configuration as 'admin apply' reads it; no secrets.")
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand { .show }
}
