import ArgumentParser
import HTTPTypes
import SallyportCore
import SallyportLoading
import SallyportURLLoading

/// Loads URLs like an app.
struct FetchCommand: SharedAppCommand, CheckedArguments {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Load URLs through the secure session, in order.",
        discussion: """
            Writes bodies to standard output, or to a file with -o. Any HTTP status is an answer and ends with exit \
            status 0, unless --fail is given.
            """)
    @Argument(help: "URLs, loaded in order in one session.") var urls: [String]
    @OptionGroup var location: StoreLocationOptions
    @Option(name: [.customShort("X"), .customLong("method")], help: "The method. Default: GET, with -d POST.")
    var method: String?
    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: "A field, as 'Name: value', or @FILE with one field per line. Repeatable.")
    var headers: [String] = []
    @Option(name: [.customShort("d"), .customLong("data")], help: "The body, or @FILE; '@-' is standard input.")
    var data: String?
    @Option(name: [.customShort("o"), .customLong("output")], help: "The file to write the body to.")
    var file: String?
    @Flag(
        name: [.customShort("C"), .customLong("continue")],
        help: "With -o: continue an earlier fetch that was interrupted.")
    var goesOn = false
    @Flag(name: [.customShort("i"), .customLong("include")], help: "Print the head of the answer too.")
    var include = false
    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Report on standard error what happens.")
    var verbose = false
    @Option(help: ArgumentHelp("Append a record of each load, as JSON.", valueName: "file")) var record: String?
    @Flag(help: "Exit with status 22, without the body, if the HTTP status is 400 or above.")
    var fail = false
    @Flag(name: .customLong("no-redirect"), help: "Do not follow redirects.")
    var noRedirect = false
    @Flag(
        name: .customLong("insecure-redirects"),
        help: "Follow redirects from https to http, where the network can read the request.")
    var insecureRedirects = false
    @Option(
        name: .customLong("header-scope"),
        help: ArgumentHelp(
            "To which servers redirects carry the fields of -H: origin (the default), site, or HOST[:PORT],….",
            valueName: "scope"),
        transform: expecting("origin, site, or a list of hosts, such as a.example,b.example:8443,"))
    var headerScope: FieldScopeArgument?
    @Flag(name: .customLong("no-cookies"), help: "Neither send nor store cookies.")
    var noCookies = false
    @Option(help: ArgumentHelp("The cookie jar; the instance's default jar if omitted.", valueName: "name"))
    var jar: String?
    @Flag(help: "Use the instance's cache; without this option, every load asks its server.")
    var cache = false
    @OptionGroup var credentials: CredentialOptions
    @OptionGroup var connection: ConnectionOptions
    @Option(
        name: .customLong("max-time"), help: "Time limit of each load, in seconds.",
        transform: expecting(SecondsArgument.expected))
    var maxTime: SecondsArgument?
    @OptionGroup var output: OutputOptions

    func check() throws {
        guard urls.count == 1 || file == nil else { throw ValidationError("-o takes one URL.") }
        if goesOn {
            // A path that is refused gets its own message when it is used.
            guard let file, (try? OutputFile.canBeReplaced(file)) ?? true else {
                throw ValidationError("-C goes with -o FILE.")
            }
            guard data == nil, method ?? "GET" == "GET" else { throw ValidationError("-C is for a GET without -d.") }
        }
        if let method, HTTPRequest.Method(rawValue: method) == nil {
            throw ValidationError("-X takes the name of a method, such as PUT.")
        }
        _ = try parsedURLs()
        for header in headers where !header.hasPrefix("@") { _ = try Self.field(header) }
    }

    func run() async throws {
        let command = self
        // Each file may be a FIFO, for whose other side all of these wait.
        let (credential, configuration, settings, client) = try await BlockingCalls("sallyport.input").result {
            try (
                command.credentials.credential(), command.sessionConfiguration(),
                Settings.reader(file: command.connection.config), Client(command.location)
            )
        }
        try await withInterruption {
            let answers = command.credentials.answers
            try await client.withSession(configuration, settings, answers) { session in
                try await Fetch(command, by: credential, in: session).run()
            }
        }
    }

    private func sessionConfiguration() throws -> SessionConfiguration {
        var configuration = try connection.session(for: parsedURLs())
        configuration.handlesCookies = !noCookies
        configuration.usesCache = cache
        configuration.allowsInsecureRedirects = insecureRedirects
        if let name = credentials.principal { configuration.principal = Principal(name) }
        configuration.allowsBasicOverPlainHTTP = credentials.auth?.method == .basic
        if let scope = headerScope?.scope { configuration.fieldScopes.others = scope }
        if let jar { configuration.cookieJar = .named(jar) }
        if let teller = try self.teller() { configuration.onRecord = { teller.tell($0) } }
        return configuration
    }

    /// Nil if no records are wanted.
    private func teller() throws -> RecordTeller? {
        guard verbose || record != nil else { return nil }
        return try RecordTeller(isVerbose: verbose, file: record)
    }

    private func parsedURLs() throws -> [RequestURL] {
        try urls.enumerated().map { index, url in
            do throws(AddressError) {
                return try RequestURL(url)
            } catch {
                // Without the text, which may contain a password.
                let name = urls.count == 1 ? "The URL" : "URL \(index + 1) of the command"
                throw ValidationError("\(name) is not valid: \(error.message)")
            }
        }
    }

    /// Reads `Name: value`; an error does not contain the text, which may contain a token.
    ///
    /// - Parameter line: of a file, for the error; nil for an argument.
    static func field(_ text: String, line: (number: Int, file: String)? = nil) throws -> HTTPField {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else {
            guard let line else { throw ValidationError("-H takes 'Name: value'.") }
            throw ValidationError("Line \(line.number) of \(line.file) is not a field, 'Name: value'.")
        }
        // White space around a value is no part of it (RFC 9110 §5.5).
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        let value = String(parts[1].drop(while: isSpace).reversed().drop(while: isSpace).reversed())
        guard HTTPField.isValidValue(value) else {
            throw ValidationError("The value of the field \(name.rawName) has characters that no field may have.")
        }
        return HTTPField(name: name, value: value)
    }

    /// The requests in their order.
    func requests() throws -> [LoadRequest] {
        let body = try body()
        let fields = try fields()
        let method = method.flatMap(HTTPRequest.Method.init(rawValue:)) ?? (body == nil ? .get : .post)
        return try parsedURLs().map { url in
            var request = LoadRequest(method, url, body: body)
            request.headerFields = fields
            if let maxTime { request.options.resourceTimeout = maxTime.duration }
            if noRedirect { request.options.followsRedirects = false }
            return request
        }
    }

    private func fields() throws -> HTTPFields {
        var fields = HTTPFields()
        for header in headers {
            if header.hasPrefix("@") {
                for field in try Self.fields(of: String(header.dropFirst())) { fields.append(field) }
            } else {
                fields.append(try Self.field(header))
            }
        }
        return fields
    }

    private static func fields(of file: String) throws -> [HTTPField] {
        let lines = try InputFile.text(file, limit: 64 << 10)
            .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return try lines.enumerated().filter { !$1.isEmpty }.map { index, line in
            try field(String(line), line: (index + 1, InputFile.name(of: file)))
        }
    }

    private func body() throws -> RequestBody? {
        guard let data else { return nil }
        guard data.hasPrefix("@") else { return .text(data) }
        let path = String(data.dropFirst())
        guard path != "-" else { return .bytes(try InputFile.bytes("-", limit: 16 << 20)) }
        return .file(try Workplace.current.path(path))
    }
}
