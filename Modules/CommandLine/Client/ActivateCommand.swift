import ArgumentParser

/// Activates an app with a link.
struct ActivateCommand: AsyncParsableCommand, CheckedArguments {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Activate an app with an activation link.",
        discussion: """
            The link holds a key: prefer '-' or --link-file, since arguments show in process lists and shell histories.
            """)
    @Argument(help: "The activation link, '-' for standard input.") var link: String?
    @Option(help: ArgumentHelp("A file with the link.", valueName: "file")) var linkFile: String?
    @OptionGroup var location: StoreLocationOptions
    @Option(help: "The app's version. Default: the highest that the user is entitled to.") var version: String?
    @Flag(help: "Keep trying while the gateway cannot be reached.") var wait = false
    @OptionGroup var output: OutputOptions

    func check() throws {
        guard (link == nil) != (linkFile == nil) else {
            throw ValidationError("Give the activation link, '-' for standard input, or --link-file.")
        }
    }

    func run() async throws {
        let link = try readLink()
        // Before the passphrase, which a user may have to type.
        try Client.check(link: link, version: version)
        let client = try Client(location)
        let (version, wait, output) = (version, wait, output)
        try await withInterruption {
            let activated = try await client.activate(link: link, version: version, waits: wait)
            output.print(activated, activated.text)
        }
    }

    /// A link has at most 2,048 bytes; the last line break of a file is removed.
    private func readLink() throws -> String {
        if let linkFile { return try InputFile.text(linkFile, limit: 4096) }
        if link == "-" { return try InputFile.text("-", limit: 4096) }
        return link ?? ""
    }
}
