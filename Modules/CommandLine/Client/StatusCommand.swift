import ArgumentParser
import SallyportCore

/// Shows the state of the authorization.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show an app's authorization, as last known; makes no connection.")
    @OptionGroup var location: StoreLocationOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let status = try await Client(location).status()
        output.print(status, status.text)
    }
}

/// Shows whether and how a URL would be reached.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say how a URL would be reached, and why; makes no connection.")
    @Argument(help: "The URL.") var url: String
    @OptionGroup var location: StoreLocationOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        _ = try RequestURL.argument(url)
        let explanation = try await Client(location).explain(url)
        output.print(explanation, explanation.text)
    }
}
