import ArgumentParser
import Glibc
import Sallyport
import SallyportBase
import SallyportDoor

/// Runs a program whose connections go the app's way.
struct RunCommand: AsyncParsableCommand, CheckedArguments {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a program whose connections go the app's way.",
        discussion: """
            Opens a door for as long as the program runs, or uses the one that is open, and tells the program by its \
            environment (http_proxy, all_proxy and their kin). Signals go to the program, and its exit status becomes this \
            one's. As in: sallyport run --store DIR -- git clone https://git.corp.example/app.git

            A program that reads no such environment goes past the door; with --isolate it cannot: it runs in a network \
            namespace of its own, in which there is nothing but the door.
            """)
    @OptionGroup var location: StoreLocationOptions
    @Flag(help: "Leave the program no other network than the door (user and network namespaces).") var isolate = false
    @Option(
        help: ArgumentHelp(
            "Certificates of authorities that the program is to trust instead of the system's, PEM.", valueName: "file")
    )
    var ca: String?
    @OptionGroup var logging: LogOptions
    @Option(help: ArgumentHelp("Append a record of each connection, a line of JSON.", valueName: "file")) var log:
        String?
    @Argument(parsing: .postTerminator, help: ArgumentHelp("The program and its arguments.", valueName: "command"))
    var command: [String] = []

    func check() throws {
        guard !command.isEmpty else {
            throw ValidationError("Give the program after '--', as in: run --store DIR -- git pull")
        }
        if let ca, ca == "-" || ProcessPath.contains(ca) {
            throw ValidationError(
                "--ca takes a file, which the program opens itself: neither - nor a descriptor of this process.")
        }
    }

    /// The file of ``ca``, which the program opens itself and perhaps from another folder.
    var authorities: String? { ca.map(ProcessPath.absolute) }

    /// - Throws: ``CommandFailure`` if the program could not read the file of authorities. A FIFO can be read once, and
    ///   programs read the file for each connection.
    func checkAuthorities() throws(CommandFailure) {
        guard let ca else { return }
        do throws(BoundedFile.Failure) {
            try BoundedFile.forEachPiece(of: ca, upTo: 16 << 20) { _ in }
        } catch {
            throw CommandFailure(
                error.reason == .notRegular ? .usage : .inputOutput, name: "file", error.description)
        }
    }

    func run() async throws {
        logging.bootstrap()
        try checkAuthorities()
        if isolate { try await Isolated.check() }
        let status =
            if RunningDoor.isOpen(for: location.store) {
                try await throughRunningDoor()
            } else {
                try await throughOwnDoor()
            }
        guard status == 0 else { throw ExitCode(status) }
    }

    private func throughOwnDoor() async throws -> Int32 {
        var configuration = DoorConfiguration(listeningOn: isolate ? [] : [.loopback()])
        if let log {
            let file = try DoorLog(log)
            configuration.onRecord = { file.append($0.json) }
        }
        let command = self
        return try await DoorHost(location).withDoor(configuration) { app, places in
            guard command.isolate else {
                return try await command.program(places).run()
            }
            let isolated = try Isolated(command.command, authorities: command.authorities)
            let socket = try await isolated.listener()
            try await app.door?.adopt(socket)
            return try await isolated.run()
        }
    }

    private func throughRunningDoor() async throws -> Int32 {
        guard log == nil else {
            throw CommandFailure(
                .usage, name: "usage", "A door is open already, and its process keeps the records, not this one.",
                hint: "give --log to 'sallyport proxy'")
        }
        guard isolate else {
            let places = try RunningDoor.places(of: location.store)
            return try await program(places).run()
        }
        let isolated = try Isolated(command, authorities: authorities)
        let socket = try await isolated.listener()
        let adoption = try RunningDoor.adopt(socket, store: location.store)
        defer { adoption.end() }
        return try await isolated.run()
    }

    private func program(_ places: [DoorPlace]) throws -> ChildProgram {
        guard let environment = DoorEnvironment(places, authorities: authorities) else { throw DoorEnvironment.noPlace }
        return ChildProgram(command[0], SystemStrings(endOfCommandLine: command), environment.variables)
    }
}
