import ArgumentParser
import Glibc
import Logging
import SallyportCookies
import SallyportCore
import SallyportSecureStore

/// Shows and changes the cookies in an app's store.
struct CookiesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cookies", abstract: "Show and change the cookies in an app's store.",
        subcommands: [ListCommand.self, RemoveCommand.self, ImportCommand.self, ExportCommand.self])
}

/// Selects the cookies for a command.
struct CookieJarOptions: ParsableArguments {
    @OptionGroup var location: StoreLocationOptions

    @Option(help: ArgumentHelp("A named jar; the instance's default jar if omitted.", valueName: "name"))
    var jar: String?

    @Option(help: ArgumentHelp("The principal; the instance itself by default.", valueName: "name"))
    var principal: String?

    var owner: Principal { principal.map { Principal($0) } ?? .instance }

    /// Runs a command with the jar, and closes the store.
    func withJar<Result>(
        _ options: StoreOptions, _ body: (CookieJar) async throws -> Result
    ) async throws -> Result {
        if let jar, !(1...CookieJar.maximumNameLength).contains(jar.utf8.count) {
            throw CommandFailure(
                .usage, name: "invalidName", "A jar's name has 1 to \(CookieJar.maximumNameLength) bytes.")
        }
        let store = try await location.openApp(options)
        defer { store.close() }
        let cookies = CookieJar(
            name: jar, in: store, gate: nil, logger: Logger(label: "sallyport.cookies"),
            isReadOnly: options.isReadOnly)
        return try await body(cookies)
    }
}

/// `netscape` or `json`.
struct CookieFormatArgument: ExpressibleByArgument, Sendable, Hashable {
    let format: CookieFileFormat

    init?(argument: String) {
        guard let format = CookieFileFormat(rawValue: argument) else { return nil }
        self.format = format
    }

    /// JSON begins with a bracket, as no line of a cookie file does; or with a brace, if it is no array.
    init(guessing file: [UInt8]) {
        let first = file.first { $0 != 0x20 && $0 != 0x0a && $0 != 0x0d && $0 != 0x09 }
        format = first == UInt8(ascii: "[") || first == UInt8(ascii: "{") ? .json : .netscape
    }

    static var allValueStrings: [String] { CookieFileFormat.allCases.map(\.rawValue) }
}

extension CookiesCommand {
    struct ListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List cookies without their values; works beside the running app.",
            discussion: "Session cookies are only in the app's memory, and are not listed.")
        @Option(help: ArgumentHelp("Only cookies that a request for this URL would send.", valueName: "url"))
        var url: String?
        @Flag(help: "Print values, which are secrets.") var showValues = false
        @OptionGroup var cookies: CookieJarOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let url = try url.map { try RequestURL.argument($0, "--url") }
            let found = try await cookies.withJar(.readOnly) { jar in
                if let url {
                    try await jar.list(for: url, of: cookies.owner)
                } else {
                    try await jar.list(of: cookies.owner)
                }
            }
            let report = found.map { CookieReport($0, showsValue: showValues) }
            output.print(report, CookieReport.text(report, showValues: showValues))
        }
    }

    struct RemoveCommand: AsyncParsableCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove cookies; the app must not run.")
        @Option(help: "Only cookies with this name.") var name: String?
        @Option(help: "Only cookies of this domain and its subdomains.") var domain: String?
        @Flag(help: "All cookies of the jar, of every principal.") var all = false
        @OptionGroup var cookies: CookieJarOptions
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard all != (name != nil || domain != nil) else {
                throw ValidationError("Give --name, --domain or both, or --all.")
            }
        }

        func run() async throws {
            let count = try await cookies.withJar(.existing) { jar in
                if all {
                    try await jar.removeEverything()
                } else {
                    try await jar.removeAll(named: name, ofDomain: domain, of: cookies.owner)
                }
            }
            output.print(RemovalReport(removed: count), "\(Count.of(count, "cookie")) removed")
        }
    }

    struct ImportCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import", abstract: "Import the persistent cookies of a file; the app must not run.")
        @Argument(help: "The file; '-' is standard input.") var file: String
        @Option(help: "The file's format; detected by default.") var format: CookieFormatArgument?
        @OptionGroup var cookies: CookieJarOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let bytes = try InputFile.bytes(file, limit: CookieJar.maximumFileLength)
            let format = (format ?? CookieFormatArgument(guessing: bytes)).format
            let count = try await cookies.withJar(.existing) { jar in
                do throws(CookieError) {
                    try await jar.importCookies(bytes, as: format, of: cookies.owner)
                } catch {
                    guard error.code != .store else { throw error }
                    throw CommandFailure(error).about(InputFile.name(of: file))
                }
                return try await jar.list(of: cookies.owner).count { $0.expires != nil }
            }
            output.print(ImportReport(persistent: count), "\(Count.of(count, "persistent cookie")) in the jar")
        }
    }

    struct ExportCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Write cookies with their values to standard output, or into a new file; works beside the app.")
        @Option(name: .shortAndLong, help: "A new file, created with mode 0600.") var output: String?
        @Option(help: "The format; netscape by default.") var format: CookieFormatArgument?
        @OptionGroup var cookies: CookieJarOptions

        @Flag(help: "Print failures as JSON, and with --output the result too.") var json = false

        func run() async throws {
            let format = format?.format ?? .netscape
            let (bytes, found) = try await cookies.withJar(.readOnly) { jar in
                let bytes = try await jar.exportCookies(as: format, of: cookies.owner)
                return (bytes, try await jar.list(of: cookies.owner))
            }
            let count = found.count { format.canHold($0) }
            let leftOut = found.count - count
            if let output {
                try NewFile.write(bytes, to: output, mode: 0o600)
                let report = ExportReport(file: output, cookies: count, leftOut: leftOut)
                StandardStreams.output(json ? JSONOutput.text(report) : "\(Count.of(count, "cookie")) in \(output)")
            } else {
                guard StandardStreams.output(text: bytes) else { throw OutputFile.unwritten(errno) }
            }
            if leftOut > 0 { Self.warn(of: leftOut) }
        }

        /// On standard error, apart from the cookies.
        private static func warn(of leftOut: Int) {
            StandardStreams.error(
                "warning: left out \(Count.of(leftOut, "cookie")) with a tab, which Netscape's format cannot hold: "
                    + "--format json exports all.")
        }
    }
}
