import ArgumentParser
import SallyportGateway

struct ApplyCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Apply a YAML file to the gateway, in one transaction.",
        discussion: "Entries that are not in the file stay, unless --prune is given. 'admin show' prints such a file.")
    @Option(name: .short, help: "The file, '-' for standard input; at most 1 MiB.") var file: String
    @Flag(help: "Remove entries that the file does not name.") var prune = false
    @Flag(help: "Show the differences without changing anything.") var dryRun = false
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
