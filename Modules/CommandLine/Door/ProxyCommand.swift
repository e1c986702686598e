import ArgumentParser
import Glibc
import Sallyport
import SallyportCore
import SallyportDoor

/// A proxy on this machine, through which other programs go the app's way.
struct ProxyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy", abstract: "Let other programs of this machine go the app's way, by HTTP and SOCKS 5.",
        subcommands: [OpenCommand.self, EnvironmentCommand.self, AdoptCommand.self], defaultSubcommand: OpenCommand.self
    )
}

extension ProxyCommand {
    struct OpenCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "open", abstract: "Open the door until SIGTERM or SIGINT.",
            discussion: """
                Prints one line when it is ready, with the addresses that it listens on. Programs of the same user may come \
                in; those of other users by --allow-user, or with the credential of --credential-file. Without --listen and \
                --socket it takes the sockets that systemd passes, else any free port of 127.0.0.1. While it runs, fetch, \
                connect and token work with the same store.
                """)
        @OptionGroup var location: StoreLocationOptions
        @Option(
            help: ArgumentHelp(
                "A loopback address and a port; port 0 for any free one. Repeatable.", valueName: "host:port"),
            transform: expecting("A loopback address and a port, such as 127.0.0.1:1080,"))
        var listen: [LoopbackArgument] = []
        @Option(help: ArgumentHelp("A Unix socket to listen on. Repeatable.", valueName: "path")) var socket: [String] =
            []
        @Option(
            name: .customShort("L"),
            help: ArgumentHelp(
                "A port that leads to one server, for programs that know no proxy. Repeatable.",
                valueName: "[bind:]port:host:port"),
            transform: expecting("PORT:HOST:PORT or BIND:PORT:HOST:PORT"))
        var forwards: [ForwardArgument] = []
        @Option(
            name: .customLong("allow-user"),
            help: ArgumentHelp(
                "Another user whose programs may come in, by name or number. Repeatable.", valueName: "user"),
            transform: expecting("A user of this machine, by name or number,"))
        var allowedUsers: [UserArgument] = []
        @Option(
            name: .customLong("credential-file"),
            help: ArgumentHelp(
                "The password of programs of other users; made if the file is not there, mode 0600.", valueName: "file")
        )
        var credentialFile: String?
        @Flag(help: "Answer GET /proxy.pac with the file by which browsers find the door.") var pac = false
        @Option(help: ArgumentHelp("Append a record of each connection, a line of JSON.", valueName: "file"))
        var log: String?
        @OptionGroup var logging: LogOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            logging.bootstrap()
            let (configuration, output) = (try configuration(), output)
            try await DoorHost(location).run(configuration) { places in
                output.print(
                    DoorReport(places), "ready: \(places.map(\.description).joined(separator: ", "))")
            }
        }

        private func configuration() throws -> DoorConfiguration {
            var places = listen.map(\.place) + socket.map { DoorPlace.unixSocket(path: $0) }
            if places.isEmpty { places = PassedSockets.take() }
            if places.isEmpty, forwards.isEmpty { places = [.loopback()] }
            var configuration = DoorConfiguration(listeningOn: places)
            configuration.forwards = forwards.map(\.forward)
            configuration.allowedUsers = Set(allowedUsers.map(\.number))
            configuration.credential = try credentialFile.map(CredentialFile.credential)
            configuration.servesProxyFile = pac
            if let log {
                let file = try DoorLog(log)
                configuration.onRecord = { file.append($0.json) }
            }
            return configuration
        }
    }

    struct EnvironmentCommand: SharedAppCommand {
        static let configuration = CommandConfiguration(
            commandName: "env", abstract: "Print the environment of programs that go through the open door.",
            discussion: "As in: eval \"$(sallyport proxy env --store DIR)\"")
        @OptionGroup var location: StoreLocationOptions
        @Option(help: "sh, fish or json.") var shell = ShellArgument.sh

        func run() async throws {
            guard let door = Workplace.current.app?.door else {
                throw CommandFailure(
                    .unavailable, name: "noDoor", "No door is open for the store at \(location.store).",
                    hint: "open one with 'sallyport proxy --store \(location.store)'")
            }
            guard let environment = await DoorEnvironment(door.proxyPlaces) else { throw DoorEnvironment.noPlace }
            StandardStreams.output(environment.text(for: shell))
        }
    }
}

extension ProxyCommand {
    /// Lets the open door take the connections of a socket, which stands in the place of standard input. Not for people.
    struct AdoptCommand: SharedAppCommand {
        static let configuration = CommandConfiguration(commandName: "adopt", shouldDisplay: false)
        @OptionGroup var location: StoreLocationOptions

        func run() async throws {
            guard let door = Workplace.current.app?.door else {
                throw CommandFailure(
                    .unavailable, name: "noDoor", "No door is open for the store at \(location.store).")
            }
            let socket = dup(Workplace.current.input)
            try await door.adopt(socket)
            // `RunningDoor.adopt` waits for this line.
            StandardStreams.output("adopted")
            // Until the process that wants it has ended.
            while (try? await Task.sleep(for: .seconds(3600))) != nil {}
            await door.release(socket)
        }
    }
}

/// Where a door listens, as `--json` prints it.
struct DoorReport: Encodable {
    let places: [String]
    init(_ places: [DoorPlace]) { self.places = places.map(\.description) }
}
